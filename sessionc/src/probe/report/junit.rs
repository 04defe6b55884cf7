//! The results as JUnit XML: a suite for each state, a case for each offence.

use mcp_protocol_machine::protocol::Strictness;
use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

use super::table::{level, quoted, why};
use crate::probe::campaign::Results;
use crate::probe::trial::{Outcome, Trial, Tried};
use crate::probe::unprompted::Unprompted;

/// The report. A fault from `threshold` on is a failure; another one is written as the output of its case.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn xml(results: &Results, threshold: Option<Strictness>) -> Result<String, SerializeError> {
    let mut report = Report::new("sessionc probe");
    for state in &results.reached {
        let mut suite = TestSuite::new(state.as_str());
        suite.add_test_cases(
            results.trials.iter().filter(|trial| trial.state == *state).map(|trial| case(trial, threshold)),
        );
        report.add_test_suite(suite);
    }
    if !results.unprompted.is_empty() {
        let mut suite = TestSuite::new("what else the server sends");
        suite.add_test_cases(results.unprompted.iter().map(|message| unprompted_case(message, threshold)));
        report.add_test_suite(suite);
    }
    for (state, why) in &results.not_reached {
        let mut suite = TestSuite::new(state.as_str());
        let mut status = TestCaseStatus::skipped();
        status.set_message(why.as_str());
        suite.add_test_case(TestCase::new("not reached", status));
        report.add_test_suite(suite);
    }
    report.to_string().map(|xml| without_count(&xml).unwrap_or(xml))
}

/// The report without the number of skipped cases in its first element. The schema that Jenkins' xUnit plugin checks reports
/// with has it in suites alone.
fn without_count(xml: &str) -> Option<String> {
    let start = xml.find("<testsuites ")?;
    let (before, rest) = xml.split_at_checked(start)?;
    let (head, behind) = rest.split_once('>')?;
    let (left, right) = head.split_once(" skipped=\"")?;
    let (_, right) = right.split_once('"')?;
    Some(format!("{before}{left}{right}>{behind}"))
}

fn case(trial: &Trial, threshold: Option<Strictness>) -> TestCase {
    let (status, output) = match &trial.outcome {
        Outcome::Skipped(why) | Outcome::GivenUp(why) => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(why.as_str());
            (status, None)
        }
        Outcome::Tried(tried) => (status(tried, threshold), Some(output(tried))),
    };
    let mut case = TestCase::new(format!("{}: {}", trial.group, trial.name), status);
    case.set_classname(trial.state.as_str());
    if let Some(output) = output {
        case.set_system_out(output);
    }
    case
}

fn status(tried: &Tried, threshold: Option<Strictness>) -> TestCaseStatus {
    let fault = tried.fault.as_ref();
    let Some(fault) = fault.filter(|fault| threshold.is_some_and(|threshold| fault.strictness >= threshold))
    else {
        return TestCaseStatus::success();
    };
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_type(level(fault.strictness)).set_message(format!("the server {}", fault.what));
    if let Some(rule) = &tried.rule {
        status.set_description(rule.as_str());
    }
    status
}

/// A message that the server sent by itself, which the protocol does not permit.
fn unprompted_case(message: &Unprompted, threshold: Option<Strictness>) -> TestCase {
    let status = match threshold.is_some_and(|threshold| message.level >= threshold) {
        true => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status
                .set_type(level(message.level))
                .set_message(format!("the server sends {}", quoted(&message.name)));
            status.set_description(why(message));
            status
        }
        false => TestCaseStatus::success(),
    };
    let mut case = TestCase::new(format!("sent: {}", message.name), status);
    case.set_system_out(format!("fault ({}): {}\n", level(message.level), why(message)));
    case
}

fn output(tried: &Tried) -> String {
    let mut output = format!("reaction: {}\nafterwards: {}\n", tried.reaction, tried.afterwards);
    if let Some(fault) = &tried.fault {
        output.push_str(&format!("fault ({}): the server {}\n", level(fault.strictness), fault.what));
    }
    output
}
