//! What ties a message to a request or to a sub-session: cancels, progress, grants, correlation keys.

use std::collections::BTreeSet;

use mcp_protocol_machine::protocol::{KeyPlace, Kind, Message, MessageIndex, Path, Side};

use super::announced::{AllWithheld, dotted};
use super::found::{Break, Pairing, Rule, declared};
use super::grants;
use crate::diagnostic::Diagnostic;

/// Compares what the messages that both files have are tied to.
pub(super) fn compare(pairing: &Pairing<'_>, withheld: &[AllWithheld; 2]) -> Vec<Break> {
    let mut found = Vec::new();
    for (sender, withheld) in [(Side::Client, &withheld[0]), (Side::Server, &withheld[1])] {
        let (version, receiver) = (pairing.version(sender), pairing.version(sender.other()));
        for index in version.declarations.indices() {
            let Some(received) = pairing.received_as(sender, index) else { continue };
            let (Some(sent), Some(taken)) = (version.message(index), receiver.message(received)) else {
                continue;
            };
            let is_exchanged =
                version.senders(index).contains(&sender) && receiver.senders(received).contains(&sender);
            if !is_exchanged || withheld.get(&index).is_some_and(|withheld| withheld.always) {
                continue;
            }
            for difference in differences(pairing, sender, &sent.table, &taken.table) {
                found.push(report(pairing, sender, (index, received), &difference));
            }
        }
    }
    found
}

/// One way in which a message is tied to something else: the sender's and the receiver's.
struct TieDifference {
    what: &'static str,
    sender: String,
    receiver: String,
}

fn differences(pairing: &Pairing<'_>, sender: Side, sent: &Message, taken: &Message) -> Vec<TieDifference> {
    let mut found = Vec::new();
    let mut compare =
        |what: &'static str, sender: Option<String>, receiver: Option<String>, matters: bool| {
            if matters && sender != receiver {
                let text = |tie: Option<String>| tie.unwrap_or_else(|| "not at all".to_owned());
                found.push(TieDifference { what, sender: text(sender), receiver: text(receiver) });
            }
        };
    if sent.kind == Kind::Request {
        let cancel = |message: &Message| {
            message.cancellable.then(|| match message.until_reply {
                true => "until its reply".to_owned(),
                false => "while it runs".to_owned(),
            })
        };
        // Who does not cancel harms no peer.
        let is_narrower = !taken.cancellable || (taken.until_reply && !sent.until_reply);
        compare("may be cancelled", cancel(sent), cancel(taken), sent.cancellable && is_narrower);
    }
    let cancels = |message: &Message| {
        let cancels = message.cancels.as_ref()?;
        let reply = if cancels.reply_error.is_some() { ", and its reply follows" } else { "" };
        Some(format!("the request at `{}`{reply}", dotted(&cancels.id)))
    };
    compare("cancels", cancels(sent), cancels(taken), true);
    let reports = |message: &Message| {
        let reports = message.reports.as_ref()?;
        let of: BTreeSet<String> = reports.of.iter().map(|path| dotted(path)).collect();
        let of: Vec<String> = of.into_iter().map(|path| format!("`{path}`")).collect();
        Some(format!("the token at `{}` of {}", dotted(&reports.token), of.join(" or ")))
    };
    compare("reports", reports(sent), reports(taken), true);
    let at = |path: &Option<Path>| Some(format!("at `{}`", dotted(path.as_ref()?)));
    let matters = |is_revoked: bool, [one, other]: [&Option<Path>; 2]| {
        grants::matters(pairing, sender, is_revoked, [one.is_some(), other.is_some()])
    };
    let granted = matters(false, [&sent.grants, &taken.grants]);
    compare("grants capabilities", at(&sent.grants), at(&taken.grants), granted);
    let revoked = matters(true, [&sent.revokes, &taken.revokes]);
    compare("revokes capabilities", at(&sent.revokes), at(&taken.revokes), revoked);
    let keys = |message: &Message| {
        let places: BTreeSet<String> = message
            .keys
            .iter()
            .map(|key| match &key.place {
                KeyPlace::Path(path) => format!("`{}`", dotted(path)),
                KeyPlace::Id => "its id".to_owned(),
                KeyPlace::Member(name) => format!("its member `{name}`"),
            })
            .collect();
        (!places.is_empty()).then(|| format!("by {}", places.into_iter().collect::<Vec<_>>().join(" and ")))
    };
    // A receiver that does not correlate takes whatever value comes.
    compare("finds its sub-session", keys(sent), keys(taken), !taken.keys.is_empty());
    found
}

fn report(
    pairing: &Pairing<'_>,
    sender: Side,
    (index, received): (MessageIndex, MessageIndex),
    difference: &TieDifference,
) -> Break {
    let (from, to) = (pairing.peer(sender), pairing.peer(sender.other()));
    let what = pairing.words(sender, index);
    let (one, other) =
        (declared(pairing.version(sender), index), declared(pairing.version(sender.other()), received));
    let diagnostic = Diagnostic::error(
        Rule::Tie.code(),
        one,
        format!("{what} {} in another way for {from} than for {to}", difference.what),
    )
    .label(format!("{from}: {}", difference.sender))
    .also(other, format!("{to}: {}", difference.receiver));
    Break::new(Rule::Tie, diagnostic).about([one, other])
}
