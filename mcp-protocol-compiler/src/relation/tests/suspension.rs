//! Cases of suspended sub-sessions.

use mcp_protocol_machine::protocol::Side;

use super::cases::Roles;
use crate::relation::Wanted;

/// A document is opened, changed and remarked upon; `stop` is the last word of the client, `stopped` of the server.
const DOCUMENT: &str =
    "0 !open *4; 0 !stop 1; 1 ?stopped 2; 2 !exit 3; 4 !change 4; 4 ?remark 4; 4 !close 5; 5 = End";

#[test]
fn where_sub_sessions_rest_is_part_of_what_the_roles_say() {
    let suspending = format!("{DOCUMENT}; 1 only !; 2 only !?; 3 only !?");
    let mut roles = Roles::with_dual("", &suspending);
    assert!(roles.dual() && roles.added(Side::Server).is_empty());
    assert!(roles.races().is_empty() && roles.safe());
    // The client goes on where the server does not expect it, or the other way round.
    let server =
        "0 ?open *4; 0 ?stop 1; 1 !stopped 2; 2 ?exit 3; 4 ?change 4; 4 !remark 4; 4 ?close 5; 5 = End";
    let roles = Roles::new("", DOCUMENT, &format!("{server}; 1 only ?; 2 only !?; 3 only !?"));
    assert!(!roles.compatible() && !roles.safe());
    let found = roles.finding(Wanted::Compatible);
    let expected = "after `!stop`, the client may go on with instances, which the server does not expect";
    assert!(found.ends_with(expected), "{found}");
    let roles = Roles::new("", &suspending, server);
    assert!(!roles.compatible() && !roles.safe(), "the server remarks after `stopped`");
    // A client that does less than the server would take is compatible.
    let roles = Roles::new("", &suspending, &format!("{server}; 2 only !; 3 only !"));
    assert!(roles.compatible() && !roles.dual() && roles.safe());
    let found = roles.finding(Wanted::Dual);
    assert!(
        found.ends_with("the server lets the client go on with instances, which it does not do"),
        "{found}"
    );
}

#[test]
fn a_message_may_not_put_to_rest_what_the_other_side_has_just_said() {
    let race = |roles: &Roles, words: &str| {
        let races = roles.races();
        assert!(races.iter().any(|race| race.message.contains(words)), "{races:?}");
    };
    // After `stop` the server's remarks are still on their way.
    let mut roles = Roles::with_dual("", &format!("{DOCUMENT}; 1 only !?; 2 only !?; 3 only !?"));
    assert!(roles.added(Side::Client).is_empty() && !roles.safe());
    race(&roles, "`stop` and instances race");
    // What the client may do while it waits crosses the refusal.
    let text = "0 !open *4; 0 !on 1; 1 !ask 2; 1 only !; 2 ?askError 1; 2 ?told 3; 4 !change 4";
    let mut roles = Roles::with_dual("ask -> told", text);
    assert!(roles.added(Side::Client).is_empty() && !roles.safe());
    race(&roles, "`askError` and instances race");
    let mut roles = Roles::with_dual("ask -> told", &format!("{text}; 2 only !"));
    assert!(roles.added(Side::Client).is_empty() && roles.races().is_empty() && roles.safe());
}
