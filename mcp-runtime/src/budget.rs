//! Limits that several parties share: how much of something may be held at the same time.

#![cfg_attr(not(test), allow(dead_code, reason = "which limits are shared depends on the features"))]

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Whose limit a budget is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    /// One session's.
    Session,
    /// A share, which one client may take of what all have together.
    Client,
    /// That of all sessions together.
    All,
}

/// One limit, with what is held of it. Cloning gives another handle on the same count.
///
/// Invariant: what is held is the sum of the living [`Permit`]s that were taken from an [`Account`] with this budget.
/// Only [`Account::take`] and [`Account::overdraw`] add to it, and only dropping a permit subtracts. It is above the
/// limit only by what was overdrawn.
#[derive(Clone)]
pub(crate) struct Budget(Arc<Counter>);

struct Counter {
    holder: Holder,
    name: &'static str,
    limit: usize,
    held: AtomicUsize,
}

impl Budget {
    /// A budget of which nothing is held. The name is that of the setting which the limit comes from.
    pub(crate) fn new(holder: Holder, name: &'static str, limit: usize) -> Budget {
        Budget(Arc::new(Counter { holder, name, limit, held: AtomicUsize::new(0) }))
    }

    /// How much is held.
    pub(crate) fn held(&self) -> usize {
        self.0.held.load(Ordering::Acquire)
    }

    fn add(&self, amount: usize) -> Result<(), Exhausted> {
        let add = |held: usize| held.checked_add(amount).filter(|held| *held <= self.0.limit);
        let added = self.0.held.fetch_update(Ordering::AcqRel, Ordering::Acquire, add);
        let Counter { holder, name, limit, .. } = *self.0;
        added.map(drop).map_err(|_| Exhausted { holder, name, limit })
    }

    fn force(&self, amount: usize) {
        self.0.held.fetch_add(amount, Ordering::AcqRel);
    }

    fn subtract(&self, amount: usize) {
        self.0.held.fetch_sub(amount, Ordering::AcqRel);
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {} of {}", self.0.name, self.held(), self.0.limit)
    }
}

/// The budgets that one party draws on, the narrowest first. Without any, it may take whatever it likes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account(Arc<[Budget]>);

impl Account {
    pub(crate) fn of(budgets: impl IntoIterator<Item = Budget>) -> Account {
        Account(budgets.into_iter().collect())
    }

    /// An account that draws on another budget first.
    pub(crate) fn within(&self, budget: Budget) -> Account {
        Account(std::iter::once(budget).chain(self.0.iter().cloned()).collect())
    }

    /// Takes that much from every budget, or nothing from any.
    ///
    /// # Errors
    /// With the first budget that has less left.
    pub(crate) fn take(&self, amount: usize) -> Result<Permit, Exhausted> {
        let mut permit = self.permit(0);
        permit.grow(amount)?;
        Ok(permit)
    }

    /// Takes that much from every budget, whether or not it is left: for what cannot be refused and is small.
    pub(crate) fn overdraw(&self, amount: usize) -> Permit {
        self.0.iter().for_each(|budget| budget.force(amount));
        self.permit(amount)
    }

    fn permit(&self, amount: usize) -> Permit {
        Permit { account: Some(self).filter(|account| !account.0.is_empty()).cloned(), amount }
    }
}

/// What one party holds of its budgets. Dropping it returns all of it.
#[derive(Debug, Default)]
pub(crate) struct Permit {
    /// `None` without budgets.
    account: Option<Account>,
    amount: usize,
}

impl Permit {
    /// Takes more from the same budgets, or nothing from any.
    ///
    /// # Errors
    /// With the first budget that has less left.
    pub(crate) fn grow(&mut self, more: usize) -> Result<(), Exhausted> {
        for (place, budget) in self.budgets().iter().enumerate() {
            if let Err(exhausted) = budget.add(more) {
                self.budgets().iter().take(place).for_each(|budget| budget.subtract(more));
                return Err(exhausted);
            }
        }
        self.amount = self.amount.saturating_add(more);
        Ok(())
    }

    /// Splits off as much, or as much as there is, as a permit of its own.
    pub(crate) fn split(&mut self, amount: usize) -> Permit {
        let amount = amount.min(self.amount);
        self.amount = self.amount.saturating_sub(amount);
        Permit { account: self.account.clone(), amount }
    }

    fn budgets(&self) -> &[Budget] {
        self.account.as_ref().map_or(&[], |account| &account.0)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.budgets().iter().for_each(|budget| budget.subtract(self.amount));
    }
}

/// A budget that has not enough left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exhausted {
    pub(crate) holder: Holder,
    /// The name of the setting.
    pub(crate) name: &'static str,
    pub(crate) limit: usize,
}

impl fmt::Display for Exhausted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Exhausted { holder, name, limit } = self;
        match holder {
            Holder::Session => write!(formatter, "the session is at its limit `{name}` of {limit}")?,
            Holder::Client => write!(formatter, "the client is at its share of `{name}`, which is {limit}")?,
            Holder::All => write!(formatter, "the server is at its limit `{name}` of {limit}")?,
        }
        formatter.write_str(": try again later")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_budgets_are_drawn_on_or_none() {
        let (own, shared) = (Budget::new(Holder::Session, "own", 10), Budget::new(Holder::All, "shared", 12));
        let first = Account::of([shared.clone()]).within(own.clone());
        let second = Account::of([shared.clone()]);
        let held = first.take(8).unwrap();
        assert_eq!((own.held(), shared.held()), (8, 8));
        assert_eq!(first.take(3).unwrap_err(), Exhausted { holder: Holder::Session, name: "own", limit: 10 });
        let other = second.take(3).unwrap();
        // The own budget has room, the shared one has not: what was taken of the own one is returned.
        assert_eq!(first.take(2).unwrap_err(), Exhausted { holder: Holder::All, name: "shared", limit: 12 });
        assert_eq!((own.held(), shared.held()), (8, 11));
        drop(held);
        assert_eq!((own.held(), shared.held()), (0, 3));
        drop(other);
        assert_eq!(shared.held(), 0);
    }

    #[test]
    fn permits_grow_and_split() {
        let budget = Budget::new(Holder::All, "bytes", 10);
        let account = Account::of([budget.clone()]);
        let mut permit = account.take(4).unwrap();
        permit.grow(6).unwrap();
        assert!(permit.grow(1).is_err());
        let part = permit.split(7);
        drop(permit);
        assert_eq!(budget.held(), 7);
        drop(part);
        let mut permit = account.take(1).unwrap();
        drop(permit.split(5));
        assert_eq!(budget.held(), 0);
    }

    #[test]
    fn what_is_overdrawn_is_returned_too() {
        let budget = Budget::new(Holder::All, "bytes", 10);
        let account = Account::of([budget.clone()]);
        let overdrawn = account.overdraw(25);
        assert!(account.take(1).is_err() && budget.held() == 25);
        drop(overdrawn);
        assert!(account.take(10).is_ok() && budget.held() == 0);
        assert!(Account::of([budget]).take(usize::MAX).is_err(), "no sum overflows");
    }

    #[test]
    fn an_account_without_budgets_has_no_limit() {
        drop(Account::default().take(usize::MAX).unwrap());
    }

    #[test]
    fn what_is_exhausted_says_whose_limit_it_is() {
        let said = |holder| Exhausted { holder, name: "max_bytes", limit: 10 }.to_string();
        assert_eq!(said(Holder::Session), "the session is at its limit `max_bytes` of 10: try again later");
        assert_eq!(
            said(Holder::Client),
            "the client is at its share of `max_bytes`, which is 10: try again later"
        );
        assert_eq!(said(Holder::All), "the server is at its limit `max_bytes` of 10: try again later");
    }
}
