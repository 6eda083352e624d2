//! A store of replicas that shows meanwhile that its host lives.

use cora_runtime::durability::{Holder, Replica, ReplicaStore};

use crate::node::host_page::HostPage;

/// Replicas that a host processes. That may exceed its time limit, so it sends heartbeats
/// meanwhile.
#[derive(Debug)]
pub(crate) struct Beating<S> {
    pub(crate) copies: S,
    pub(crate) page: HostPage,
}

impl<S: ReplicaStore> ReplicaStore for Beating<S> {
    fn keep(&mut self, copy: &Replica<'_>) -> bool {
        self.page.beat();
        self.copies.keep(copy)
    }

    fn forget(&mut self, holder: Holder, state: u16, key: &[u8]) {
        self.page.beat();
        self.copies.forget(holder, state, key);
    }

    fn forget_all(&mut self, holder: Holder, group: Option<&[u8]>) {
        self.page.beat();
        self.copies.forget_all(holder, group);
    }

    fn assign(&mut self, from: Holder, to: Holder, group: Option<&[u8]>) {
        self.page.beat();
        self.copies.assign(from, to, group);
    }

    fn begin(&mut self) {
        self.copies.begin();
    }

    fn commit(&mut self) {
        self.copies.commit();
    }

    fn keep_part(&mut self, state: u16, at: usize, part: &[u8]) {
        self.page.beat();
        self.copies.keep_part(state, at, part);
    }

    fn parts(&self, state: u16, visit: &mut dyn FnMut(usize, &[u8])) -> bool {
        self.copies.parts(state, &mut |at, part| {
            self.page.beat();
            visit(at, part);
        })
    }

    fn find(&self, state: u16, key: &[u8], visit: &mut dyn FnMut(&Replica<'_>)) -> bool {
        self.copies.find(state, key, visit)
    }

    fn each(&self, holder: Holder, group: Option<&[u8]>, visit: &mut dyn FnMut(&Replica<'_>)) {
        self.copies.each(holder, group, &mut |copy| {
            self.page.beat();
            visit(copy);
        });
    }
}
