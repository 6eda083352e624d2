#[state(map, key = Tenant, capacity = TENANTS)]
#[derive(Default)]
struct Quota {
    packets: u32,
    r#final: bool,
}

#[state(prefixes, capacity = 1_000_000)]
pub(crate) struct Route {
    port: u8,
}

#[state(acl, capacity = 100)]
struct Rule {
    allow: bool,
}
