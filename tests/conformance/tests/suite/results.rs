//! What the suite writes: a folder for each scenario, with a list of its checks.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::expected::Row;

/// How many characters the time takes that ends the name of a folder, with the hyphen before it.
const TIME: usize = "-2025-11-25T00-00-00-000Z".len();

/// The checks of each scenario.
#[derive(Debug, Default)]
pub(crate) struct Results(BTreeMap<String, Checks>);

/// What came of the checks of one scenario.
#[derive(Debug, Default, PartialEq, Eq)]
struct Checks {
    passed: usize,
    /// What failed, or was warned of, in the suite's words.
    faults: Vec<String>,
}

impl Results {
    pub(crate) fn read(folder: &Path) -> Results {
        let mut results = Results::default();
        results.read_folder(folder, "");
        results
    }

    /// Reads the folders whose names begin with a prefix; each scenario of `auth/…` is in a folder of that name.
    fn read_folder(&mut self, folder: &Path, prefix: &str) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if name == "auth" {
                self.read_folder(&path, "auth/");
                continue;
            }
            let name = &name[..name.len() - TIME];
            // Those of servers carry the role in front.
            let scenario = format!("{prefix}{}", name.strip_prefix("server-").unwrap_or(name));
            // A scenario that could not even begin has a folder, and no checks.
            let text = std::fs::read_to_string(path.join("checks.json")).unwrap_or_else(|_| "[]".to_owned());
            let checks: Vec<Value> = serde_json::from_str(&text).unwrap();
            let twice = self.0.insert(scenario, Checks::of(&checks));
            assert!(twice.is_none(), "{} was run twice", path.display());
        }
    }

    /// The same without the scenarios whose names begin so.
    pub(crate) fn without(mut self, prefix: &str) -> Results {
        self.0.retain(|name, _| !name.starts_with(prefix));
        self
    }

    /// Results that are made up: names, and how many checks passed and failed.
    pub(crate) fn of(rows: &[(&str, usize, usize)]) -> Results {
        let checks = |passed: usize, failed| Checks { passed, faults: vec!["no".to_owned(); failed] };
        Results(
            rows.iter().map(|(name, passed, failed)| ((*name).into(), checks(*passed, *failed))).collect(),
        )
    }

    fn expected(rows: &[Row]) -> Vec<(&str, Checks)> {
        let mut rows: Vec<_> =
            rows.iter().map(|(name, passed)| (*name, Checks { passed: *passed, faults: vec![] })).collect();
        rows.sort_by_key(|(name, _)| *name);
        rows
    }

    /// Whether these scenarios were run, no others, and all of their checks passed.
    pub(crate) fn are(&self, rows: &[Row]) -> bool {
        self.0
            .iter()
            .map(|(name, checks)| (&**name, checks))
            .eq(Results::expected(rows).iter().map(|(name, checks)| (*name, checks)))
    }

    #[track_caller]
    pub(crate) fn assert_are(&self, rows: &[Row]) {
        assert!(self.are(rows), "expected {:#?}\nbut got {:#?}", Results::expected(rows), self.0);
    }
}

impl Checks {
    fn of(checks: &[Value]) -> Checks {
        let mut counted = Checks::default();
        for check in checks {
            match check["status"].as_str().unwrap() {
                "SUCCESS" => counted.passed += 1,
                // The first shows the traffic, the second that the revision does not ask for it.
                "INFO" | "SKIPPED" => {}
                status => {
                    let (id, why) = (&check["id"], &check["errorMessage"]);
                    counted.faults.push(format!("{status} {id}: {why}"));
                }
            }
        }
        counted
    }
}
