//! Engines without a runtime: bytes in, bytes out, a clock that stands still until it is moved.

pub(super) mod desk {
    #![allow(missing_docs)]
    crate::protocol!("tests/sessions/help_desk.session");
}

mod garden {
    #![allow(missing_docs)]
    crate::protocol!("tests/sessions/garden.session");
}

mod parcels {
    #![allow(missing_docs)]
    crate::protocol!("tests/sessions/parcels.session");
}

mod watching {
    #![allow(missing_docs)]
    crate::protocol!("tests/sessions/watching.session");
}

mod batches;
mod calls;
mod closing;
mod contained;
mod dialect;
mod early;
mod ends;
mod hostile;
mod limits;
mod messages;
mod order;
mod pair;
mod races;
mod reconnecting;
mod reused_ids;
mod timeouts;
mod waking;
