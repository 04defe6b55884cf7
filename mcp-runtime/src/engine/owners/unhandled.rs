//! Which requests the handlers of this side implement, of those that need a capability.

use std::collections::BTreeSet;

use mcp_protocol_machine::protocol::MessageIndex;

use super::wakers::Effects;
use crate::report::Report;
use crate::rules::Rules;
use crate::rules::announcements;

/// What handlers of the session, and of its sub-sessions, leave to their default methods.
///
/// Invariants: nothing that some handler implements waits. A capability is reported once. Both are bounded by what the
/// protocol declares.
#[derive(Debug, Default)]
pub(crate) struct UnhandledRequests {
    implemented: Vec<MessageIndex>,
    /// Those that were not reported, and may be as soon as their capability is announced.
    waiting: Vec<MessageIndex>,
    reported: BTreeSet<String>,
}

impl UnhandledRequests {
    /// A handler begins: each request that needs a capability, and whether the handler leaves it to its default method.
    pub(crate) fn begin(&mut self, requests: &[(MessageIndex, bool)]) {
        self.waiting.reserve(requests.len());
        for &(request, is_default) in requests {
            if !is_default {
                if !self.implemented.contains(&request) {
                    self.implemented.push(request);
                }
            } else if !self.waiting.contains(&request) {
                self.waiting.push(request);
            }
        }
        let implemented = &self.implemented;
        self.waiting.retain(|request| !implemented.contains(request));
    }

    /// A handler has begun, or this side has announced what it can do: reports each capability that was announced and of
    /// which no request has a handler. Each is reported once.
    pub(crate) fn report(&mut self, rules: &Rules, effects: &mut Effects) {
        let announced = |request: MessageIndex| {
            rules.message(request).and_then(|table| announcements::announced_for(rules, table))
        };
        if !announcements::has_announced(rules)
            || !self.waiting.iter().any(|request| announced(*request).is_some())
        {
            return;
        }
        let mut found: Vec<(String, Vec<MessageIndex>)> = Vec::new();
        self.waiting.retain(|request| {
            let Some(capability) = announced(*request) else { return true };
            match found.iter_mut().find(|(known, _)| *known == capability) {
                Some((_, requests)) => requests.push(*request),
                None => found.push((capability, vec![*request])),
            }
            false
        });
        for (capability, requests) in found {
            let mut implemented = self.implemented.iter();
            if announcements::handles_some(rules, &capability, &requests)
                || implemented.any(|request| announced(*request).as_ref() == Some(&capability))
                || !self.reported.insert(capability.clone())
            {
                continue;
            }
            let methods = requests.into_iter().map(|request| rules.method(request)).collect();
            effects.report(Report::Unhandled { capability, methods });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use mcp_protocol_machine::protocol::Side;
    use tracing::Span;

    use super::*;
    use crate::engine::tests::desk;
    use crate::options::Options;

    #[test]
    fn what_one_handler_implements_does_not_wait_for_another() {
        let [first, second, third] = [0, 1, 2].map(MessageIndex);
        let mut unhandled = UnhandledRequests::default();
        unhandled.begin(&[(first, true), (second, true)]);
        unhandled.begin(&[(first, false), (second, true), (third, true)]);
        assert!(unhandled.implemented.contains(&first));
        assert_eq!(unhandled.waiting, [second, third]);
    }

    #[test]
    fn a_capability_without_a_handler_is_reported_once_it_is_announced_and_once() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let reports = Arc::clone(&seen);
        let options =
            Options::new().on_report(move |report| reports.lock().unwrap().push(report.to_string()));
        let options = Arc::new(options);
        let mut rules = Rules::new((&desk::PROTOCOL).into(), Side::Server, Arc::clone(&options)).unwrap();
        let (mut unhandled, mut effects) = (UnhandledRequests::default(), Effects::default());
        unhandled.begin(&[(desk::messages::ASK, true), (desk::messages::LOOK, true)]);
        unhandled.report(&rules, &mut effects);
        assert!(effects.take().is_none(), "nothing was announced");
        let payload = Some(r#"{"capabilities":{"questions":true}}"#);
        let mut times = 0;
        announcements::note(&mut rules, desk::messages::WELCOME, payload, false, |rules| {
            times += 1;
            unhandled.report(rules, &mut effects);
        });
        unhandled.begin(&[(desk::messages::ASK, true)]);
        unhandled.report(&rules, &mut effects);
        effects.take().unwrap().run(&options, &Span::none());
        assert_eq!(times, 1);
        let seen = seen.lock().unwrap();
        assert!(matches!(&seen[..], [report] if report.starts_with("`questions` was announced")), "{seen:?}");
    }
}
