//! Findings in words: names for numbers, and the constructors of `findings` that say them.

use mcp_protocol_machine::protocol::{Direction, KeyIndex, Kind, MessageIndex};

use super::finding::{Before, Finding, FindingKind, Fits};
use super::raw::{Step, sign};
use crate::declarations::{Declarations, Resolution};
use crate::diagnostic::{Diagnostic, Edit, Severity};
use crate::findings::{
    channels, choices, declarations, exchanges, members, only, recursion, refusals, replies, size,
};
use crate::parser::words::is_reserved;
use crate::source::Span;

/// Says findings, in their order.
pub(super) fn say(findings: &[Finding], resolution: &Resolution) -> Vec<Diagnostic> {
    let words = Words(&resolution.declarations);
    let said = findings.iter().map(|finding| {
        let diagnostic = words.say(finding, resolution);
        debug_assert_eq!(finding.is_error(), diagnostic.severity == Severity::Error, "{finding:?}");
        diagnostic
    });
    said.collect()
}

struct Words<'a>(&'a Declarations);

impl Words<'_> {
    fn name(&self, message: MessageIndex) -> &str {
        self.0.message_name(message)
    }

    fn names(&self, messages: &[MessageIndex]) -> Vec<String> {
        messages.iter().map(|message| self.name(*message).to_owned()).collect()
    }

    fn key(&self, key: &KeyIndex) -> &str {
        self.0.key_name(*key)
    }

    /// The member of its envelope in which a message has a key.
    fn member(&self, key: KeyIndex, message: MessageIndex) -> Option<&str> {
        let mut keys = self.0.message(message)?.table.member_keys();
        keys.find(|(carried, _)| *carried == key).map(|(_, member)| member.as_ref())
    }

    /// An action as it is written: `!M`.
    fn action(&self, (direction, message): Step) -> String {
        written(direction, self.name(message))
    }

    /// The action that answers a request, as it is written: `?R`, or `?reply` where there are several.
    fn answer(&self, (direction, request): Step) -> String {
        let mut replies = self.0.replies(request);
        let name = match (replies.next(), replies.next()) {
            (Some(only), None) => self.name(only),
            _ => "reply",
        };
        written(direction.flip(), name)
    }

    fn declared(&self, message: MessageIndex) -> Span {
        self.0.message(message).map(|message| message.span).unwrap_or_default()
    }

    fn before(&self, before: &Before) -> replies::StepBefore {
        let declared = self.0.message(before.action.1).map(|message| &message.table);
        let notification = declared.filter(|table| table.kind == Kind::Notification);
        let (direction, _) = before.action;
        let answers = declared.and_then(|table| match table.kind {
            Kind::Reply { request } | Kind::Refusal { request } => {
                Some(self.action((direction.flip(), request)))
            }
            Kind::Request | Kind::Notification => None,
        });
        replies::StepBefore {
            action: self.action(before.action),
            span: before.span,
            group: before.group.clone(),
            notification: notification.map(|table| table.method.to_string()),
            answers,
        }
    }

    fn fits(&self, fits: &Fits) -> replies::FittingReply {
        let (reply, asked) = (self.answer(fits.request), self.action(fits.request));
        replies::FittingReply { place: fits.place, reply, asked }
    }

    fn say(&self, finding: &Finding, resolution: &Resolution) -> Diagnostic {
        let at = finding.at;
        let action = |step: &Step| self.action(*step);
        match &finding.what {
            FindingKind::UndefinedMessage(name) => declarations::undefined_action(name, resolution),
            FindingKind::UndefinedDefinition { name, variables, other_role, replicated } => {
                let known: Option<Vec<&str>> =
                    variables.as_ref().map(|names| names.iter().map(String::as_str).collect());
                let mut said =
                    declarations::undefined_definition(name, resolution, known.as_deref(), *replicated);
                if is_reserved(&name.text) {
                    said.helps.clear();
                    said = said.suggest(
                        format!(
                            "`{}` is a word of the language: write the name of a definition or of a loop, or `End`",
                            name.text
                        ),
                        [Edit::replace(name.span, "End")],
                    );
                }
                if let Some(other) = other_role {
                    said.helps.clear();
                    said = said.suggest(
                        format!("write `dual {other}` for the other role's dual"),
                        [Edit::replace(at, other.as_str())],
                    );
                }
                said
            }
            FindingKind::UnusedDefinition(name) => declarations::unused_definition(name),

            FindingKind::TwoOperators { first } => choices::two_operators(*first, at),
            FindingKind::NoFirstAction(what) => choices::no_first_action(at, what),
            FindingKind::ChannelsOfBranch { channels, operator } => {
                choices::channels_of_branch(at, *channels, *operator)
            }
            FindingKind::SameFirstAction { action: step, first } => {
                choices::same_first_action(&action(step), at, *first)
            }
            FindingKind::AgainstOperator(operator) => choices::against_operator(*operator, at),

            FindingKind::Across { name, bound, barrier, barrier_at, chooser, ends } => {
                recursion::across(name, *bound, *barrier, *barrier_at, *chooser, ends)
            }
            FindingKind::DefinitionAcross { name, barrier } => {
                recursion::definition_across(name, at, *barrier)
            }
            FindingKind::Unguarded(name) => recursion::unguarded(name, at),
            FindingKind::BranchOfLoop(variable) => recursion::branch_belongs_to_loop(variable, at),
            FindingKind::NeverAgain { variable, ends } => recursion::never_again(variable, ends),
            FindingKind::DualOfVariable(name) => recursion::dual_of_variable(at, name),

            FindingKind::WithoutRequest { direction, name, request, other_way, before, fits } => {
                replies::without_request(
                    &written(*direction, name),
                    at,
                    request.as_ref().map(action).as_deref(),
                    *other_way,
                    before.as_ref().map(|before| self.before(before)),
                    fits.as_ref().map(|fits| self.fits(fits)),
                )
            }
            FindingKind::Ambiguous { asker, open } => {
                let answers: Vec<String> =
                    open.iter().map(|request| self.answer((*asker, *request))).collect();
                replies::ambiguous(at, &self.names(open), &answers)
            }
            FindingKind::OpenAlready { request, crossed, opened, next } => {
                let reply = self.answer(*request);
                replies::open_already(&action(request), at, &reply, *crossed, *opened, next.as_deref())
            }
            FindingKind::OpenAcrossChannels(request) => {
                replies::open_across_channels(&action(request), at, &self.answer(*request))
            }
            FindingKind::NeverAnswered { request, ends, elsewhere, crossed, opened } => {
                let reply = self.answer(*request);
                replies::never_answered(&action(request), at, (*ends, *elsewhere), &reply, *crossed, *opened)
            }
            FindingKind::NotAccepted { request, missing, accepted } => {
                let declared = missing.first().map(|first| self.declared(*first)).unwrap_or_default();
                let (missing, accepted) = (self.names(missing), self.names(accepted));
                replies::not_accepted(self.name(*request), &missing, &accepted, at, declared)
            }

            FindingKind::Overlap { action: step, first, bodies } => {
                channels::overlap(&action(step), (*first, at), bodies)
            }
            FindingKind::OverlapWithItself { action: step, first } => {
                channels::overlap_with_itself(&action(step), *first, at)
            }
            FindingKind::BodyStartsWithReply { direction, name, request } => {
                let request = request.as_ref().map(action);
                channels::body_starts_with_reply(at, &written(*direction, name), request.as_deref())
            }
            FindingKind::BodyMayBeEmpty => channels::body_may_be_empty(at),
            FindingKind::BodyMayStop => channels::body_may_stop(at),
            FindingKind::KeylessSteps { action: step, others, held, opener } => {
                let others: Vec<(Span, String)> =
                    others.iter().map(|(span, step)| (*span, action(step))).collect();
                let held: Vec<&str> = held.iter().map(|key| self.key(key)).collect();
                let opener = opener.map(|(message, span)| (self.name(message), span));
                channels::keyless_step((at, &action(step)), &others, &held, opener)
            }
            FindingKind::MemberWithoutValue { action: step, key, in_body } => {
                let (_, message) = step;
                let member = self.member(*key, *message).unwrap_or_default();
                members::without_value(at, &action(step), (self.key(key), member), *in_body)
            }
            FindingKind::StepOpensToo { action: step, first, key } => {
                let (_, message) = step;
                let key = key.map(|key| (self.key(&key), self.member(key, *message)));
                channels::step_opens_too(at, &action(step), *first, key)
            }
            FindingKind::CouldBeAnother { action: step, open } => {
                channels::could_be_another(at, &action(step), *open)
            }
            FindingKind::CancelAsStep(step) => exchanges::cancel_is_not_a_step(at, &action(step)),
            FindingKind::ReportAsStep(step) => exchanges::progress_is_not_a_step(at, &action(step)),

            FindingKind::OnlyWithChannels { name, opened } => only::channels(at, name, *opened),
            FindingKind::OnlyInSubSession(name) => only::in_a_sub_session(at, name),
            FindingKind::OnlyWithParallelChannel(name) => only::parallel_to_another(at, name),
            FindingKind::OnlyStopsNothing { name, no_bodies } => only::stops_nothing(at, name, *no_bodies),

            FindingKind::RefusalEndsSubSession { refusal, request } => {
                refusals::ends_the_sub_session(at, &action(refusal), self.name(*request))
            }
            FindingKind::WouldUndo { request, refusal, undone, undone_at } => refusals::would_undo(
                &action(request),
                (&self.answer(*request), at),
                &self.action((request.0.flip(), *refusal)),
                (&action(undone), *undone_at),
            ),
            FindingKind::StatesCouldPart { request, refusal, in_sub_session } => refusals::states_could_part(
                &action(request),
                &self.answer(*request),
                refusal.as_ref().map(action).as_deref(),
                (self.declared(request.1), at),
                *in_sub_session,
            ),
            FindingKind::TwoCancels { request, other } => {
                refusals::two_cancels(&action(request), self.name(*other), self.declared(request.1), at)
            }

            FindingKind::TooManyBranches(most) => size::too_many_branches(at, *most),
            FindingKind::TooManyChannels(most) => size::too_many_channels(at, *most),
            FindingKind::TooManyEdges(most) => size::too_many_edges(at, *most),
            FindingKind::TooManyNames(most) => size::too_many_names(at, *most),
            FindingKind::TooManyStates(most) => size::too_many_states(at, *most),
            FindingKind::TooManyOpenSets(sets) => size::too_many_open_sets(at, *sets),
        }
    }
}

/// An action by its name: `!M`.
fn written(direction: Direction, name: &str) -> String {
    format!("{}{name}", sign(direction))
}
