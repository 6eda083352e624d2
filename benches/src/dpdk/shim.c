/* What of DPDK is not a symbol but an inline function or a structure. The callers, with the contracts of
 * the pointers, are in ffi.rs. */

#define ALLOW_EXPERIMENTAL_API
#include <rte_eal.h>
#include <rte_hash.h>
#include <rte_malloc.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>
#include <rte_ring_peek_zc.h>

/* Starts the environment on one core, without huge pages of its own and without devices. */
int cora_eal_start(const char *lcores)
{
	char *words[] = {
		"cora-bench", "--no-huge", "--no-shconf", "--no-pci", "--no-telemetry",
		"--log-level=error", "--lcores", (char *)lcores,
	};
	return rte_eal_init(sizeof(words) / sizeof(words[0]), words);
}

/* A heap in memory of the caller's; gives its socket. */
int cora_heap_create(const char *name, void *memory, size_t bytes, size_t page)
{
	if (rte_malloc_heap_create(name) != 0 ||
	    rte_malloc_heap_memory_add(name, memory, bytes, NULL, 0, page) != 0)
		return -1;
	return rte_malloc_heap_get_socket(name);
}

/* Bytes in use on a heap. */
size_t cora_heap_bytes(int socket)
{
	struct rte_malloc_socket_stats stats;

	return rte_malloc_get_socket_stats(socket, &stats) == 0 ? stats.heap_allocsz_bytes : 0;
}

/* For one thread, with the hash function that DPDK prefers on this machine. */
struct rte_hash *cora_hash_create(const char *name, uint32_t entries, uint32_t key_bytes, int socket)
{
	const struct rte_hash_parameters parameters = {
		.name = name,
		.entries = entries,
		.key_len = key_bytes,
		.socket_id = socket,
		/* Without it the last few keys of a full table find no place. */
		.extra_flag = RTE_HASH_EXTRA_FLAGS_EXT_TABLE,
	};
	return rte_hash_create(&parameters);
}

/* One producer, one consumer. */
struct rte_ring *cora_ring_create(const char *name, unsigned int bytes, unsigned int count, int socket)
{
	return rte_ring_create_elem(name, bytes, count, socket, RING_F_SP_ENQ | RING_F_SC_DEQ);
}

unsigned int cora_ring_enqueue(struct rte_ring *ring, const void *elements, unsigned int bytes,
			       unsigned int count)
{
	return rte_ring_sp_enqueue_burst_elem(ring, elements, bytes, count, NULL);
}

unsigned int cora_ring_dequeue(struct rte_ring *ring, void *elements, unsigned int bytes,
			       unsigned int count)
{
	return rte_ring_sc_dequeue_burst_elem(ring, elements, bytes, count, NULL);
}

/* Room for elements, or elements, in place: the first `first_count` from `first` on. */
struct cora_span {
	void *first;
	void *second;
	unsigned int first_count;
};

static void keep(struct cora_span *span, const struct rte_ring_zc_data *data)
{
	span->first = data->ptr1;
	span->second = data->ptr2;
	span->first_count = data->n1;
}

unsigned int cora_ring_write_begin(struct rte_ring *ring, unsigned int bytes, unsigned int count,
				   struct cora_span *span)
{
	struct rte_ring_zc_data data = { 0 };

	count = rte_ring_enqueue_zc_burst_elem_start(ring, bytes, count, &data, NULL);
	keep(span, &data);
	return count;
}

void cora_ring_write_end(struct rte_ring *ring, unsigned int count)
{
	rte_ring_enqueue_zc_elem_finish(ring, count);
}

unsigned int cora_ring_read_begin(struct rte_ring *ring, unsigned int bytes, unsigned int count,
				  struct cora_span *span)
{
	struct rte_ring_zc_data data = { 0 };

	count = rte_ring_dequeue_zc_burst_elem_start(ring, bytes, count, &data, NULL);
	keep(span, &data);
	return count;
}

void cora_ring_read_end(struct rte_ring *ring, unsigned int count)
{
	rte_ring_dequeue_zc_elem_finish(ring, count);
}
