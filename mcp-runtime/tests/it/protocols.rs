//! The protocols of these tests, each expanded once.

pub(crate) mod app_server {
    mcp_runtime::protocol!("tests/sessions/app_server.session");
}

pub(crate) mod restrictions {
    mcp_runtime::protocol!("tests/sessions/restrictions.session");
}

pub(crate) mod cellar {
    mcp_runtime::protocol!("tests/sessions/cellar.session");
}

pub(crate) mod help_desk {
    mcp_runtime::protocol!("tests/sessions/help_desk.session");
}

pub(crate) mod garden {
    mcp_runtime::protocol!("tests/sessions/garden.session");
}

pub(crate) mod halves {
    mcp_runtime::protocol!("tests/sessions/halves.session");
}

pub(crate) mod kitchen {
    mcp_runtime::protocol!("tests/sessions/kitchen.session");
}

pub(crate) mod restaurant {
    mcp_runtime::protocol!("tests/sessions/restaurant.session");
}

pub(crate) mod registry {
    mcp_runtime::protocol!("tests/sessions/registry.session");
}

pub(crate) mod tasting {
    mcp_runtime::protocol!("tests/sessions/tasting.session");
}

pub(crate) mod turns {
    mcp_runtime::protocol!("tests/sessions/turns.session");
}

pub(crate) mod two_channels {
    mcp_runtime::protocol!("tests/sessions/two_channels.session");
}

pub(crate) mod watching {
    mcp_runtime::protocol!("tests/sessions/watching.session");
}

pub(crate) mod workbench {
    mcp_runtime::protocol!("tests/sessions/workbench.session");
}
