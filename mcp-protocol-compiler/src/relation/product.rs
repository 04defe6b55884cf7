//! The two roles side by side: every pair of configurations in which they can meet, breadth first.
//!
//! A pair with several linear channels is split into groups that share no messages; each group is walked by itself,
//! which is what keeps channels side by side from multiplying. Where the roles group messages differently the
//! product of the channels of that group is walked, up to [`PRODUCT_LIMIT`].

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use mcp_protocol_machine::protocol::{Action, Side, StateIndex};

use super::machine::{Event, Locations, Machine, Move};
use crate::hash::{Map, Set};

/// How many pairs with several channels at once are looked at.
pub const PRODUCT_LIMIT: usize = 100_000;

/// How many channels the pairs with several of them may have in all.
const CHANNELS_LIMIT: usize = 4_000_000;

/// How many pairs are looked at in all.
const PAIR_LIMIT: usize = 4_000_000;

/// What part of a session a configuration is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Extent {
    /// All linear channels.
    Whole,
    /// One of several parallel groups of channels.
    Part,
    /// One sub-session of a `*` body.
    Body,
    /// One of several parallel groups of channels of a sub-session.
    BodyPart,
}

impl Extent {
    /// Whether it belongs to a sub-session.
    pub(super) fn is_body(self) -> bool {
        matches!(self, Extent::Body | Extent::BodyPart)
    }
}

/// Where one role is, as far as one pair is concerned.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Configuration {
    pub(super) locations: Locations,
    pub(super) extent: Extent,
    /// Replicated channels that run for good on both sides, each with one body; compared once, where the split
    /// happened.
    settled: Rc<BTreeSet<Event>>,
}

/// Where both roles are.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub(super) client: Configuration,
    pub(super) server: Configuration,
}

/// Points into the pairs of a [`Walk`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct PairIndex(usize);

struct PairNode {
    client: usize,
    server: usize,
    parent: Option<(PairIndex, Event)>,
    /// Where the pair is split in parts and has no moves of its own but these.
    split: Option<BTreeSet<Event>>,
}

/// The linear channels of the client and of the server that share messages.
type ChannelGroup = (Vec<StateIndex>, Vec<StateIndex>);

/// There are too many pairs; the one that was one too many.
#[derive(Clone, Debug)]
pub(super) struct TooMany {
    /// How many pairs with several channels at once there were before it.
    pub(super) products: usize,
    /// How many pairs in all.
    pub(super) pairs: usize,
    pub(super) client: Locations,
    pub(super) server: Locations,
}

#[derive(Default)]
struct Configurations {
    list: Vec<Configuration>,
    indexes: Map<Configuration, usize>,
}

impl Configurations {
    fn index(&mut self, configuration: Configuration) -> usize {
        *self.indexes.entry(configuration.clone()).or_insert_with(|| {
            self.list.push(configuration);
            self.list.len() - 1
        })
    }
}

/// Which pairs need not be looked at again.
enum Seen {
    /// Those that were looked at.
    Pairs(Set<(usize, usize)>),
    /// Those that follow from others because the relation is an equivalence. What is found first is still on a
    /// shortest way: if a pair left out can be told apart by some continuation, so can one of the pairs it follows
    /// from, and they were reached no later.
    Classes(Classes),
}

/// Classes of configurations, by union and find.
#[derive(Default)]
struct Classes {
    parents: Vec<usize>,
}

impl Classes {
    fn root(&mut self, mut item: usize) -> usize {
        while item >= self.parents.len() {
            self.parents.push(self.parents.len());
        }
        while let Some(&parent) = self.parents.get(item) {
            if parent == item {
                break;
            }
            let above = self.parents.get(parent).copied().unwrap_or(parent);
            if let Some(slot) = self.parents.get_mut(item) {
                *slot = above;
            }
            item = above;
        }
        item
    }

    /// Whether the two were apart until now.
    fn unite(&mut self, client: usize, server: usize) -> bool {
        let (one, other) = (self.root(2 * client), self.root(2 * server + 1));
        if let Some(slot) = self.parents.get_mut(one) {
            *slot = other;
        }
        one != other
    }
}

/// The pairs reached so far.
pub(super) struct Walk<'a, 'b> {
    pub(super) client: &'b Machine<'a>,
    pub(super) server: &'b Machine<'a>,
    clients: Configurations,
    servers: Configurations,
    nodes: Vec<PairNode>,
    /// The index of each pair, as far as [`Walk::find`] has needed it.
    places: Map<(usize, usize), PairIndex>,
    next: usize,
    seen: Seen,
    products: usize,
    /// How many of them are looked at.
    most_products: usize,
    /// How many channels the pairs with several of them have.
    channels: usize,
    grouping: Grouping,
}

/// Whether channels that share nothing are walked by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grouping {
    /// Each group of channels by itself.
    Apart,
    /// All channels together, where only the whole decides.
    Together,
}

impl<'a, 'b> Walk<'a, 'b> {
    /// At the start of a session; every pair is looked at, and at most so many with several channels at once.
    pub(super) fn pairs(
        client: &'b Machine<'a>,
        server: &'b Machine<'a>,
        grouping: Grouping,
        most_products: usize,
    ) -> Result<Self, TooMany> {
        Self::start(client, server, Seen::Pairs(Set::default()), grouping, most_products)
    }

    /// At the start of a session, for a relation that is an equivalence: near-linear.
    pub(super) fn classes(
        client: &'b Machine<'a>,
        server: &'b Machine<'a>,
        grouping: Grouping,
        most_products: usize,
    ) -> Result<Self, TooMany> {
        Self::start(client, server, Seen::Classes(Classes::default()), grouping, most_products)
    }

    fn start(
        client: &'b Machine<'a>,
        server: &'b Machine<'a>,
        seen: Seen,
        grouping: Grouping,
        most_products: usize,
    ) -> Result<Self, TooMany> {
        let mut walk = Walk {
            client,
            server,
            clients: Configurations::default(),
            servers: Configurations::default(),
            nodes: Vec::new(),
            places: Map::default(),
            next: 0,
            seen,
            products: 0,
            most_products,
            channels: 0,
            grouping,
        };
        let settled = Rc::new(BTreeSet::new());
        let (extent, settled) = (Extent::Whole, settled);
        let from_client = Configuration { locations: client.start(), extent, settled: settled.clone() };
        let from_server = Configuration { locations: server.start(), extent, settled };
        walk.arrive(None, Pair { client: from_client, server: from_server }, true)?;
        Ok(walk)
    }

    /// The machine of a role.
    pub(super) fn machine(&self, side: Side) -> &'b Machine<'a> {
        match side {
            Side::Client => self.client,
            Side::Server => self.server,
        }
    }

    /// Whether the sub-session that a pair is of is over for one role in some locations. A part of it does not say that.
    pub(super) fn is_over(&self, pair: &Pair, machine: &Machine<'_>, locations: &[StateIndex]) -> bool {
        pair.client.extent != Extent::BodyPart && machine.is_over(locations)
    }

    /// The next pair that was reached and not yet handed out.
    pub(super) fn next(&mut self) -> Option<PairIndex> {
        let next = PairIndex(self.next);
        self.nodes.get(self.next)?;
        self.next += 1;
        Some(next)
    }

    /// All pairs reached.
    pub(super) fn all(&self) -> impl Iterator<Item = PairIndex> + use<> {
        self.all_after(0)
    }

    /// The pairs reached after so many others.
    pub(super) fn all_after(&self, reached: usize) -> impl Iterator<Item = PairIndex> + use<> {
        (reached..self.nodes.len()).map(PairIndex)
    }

    /// How many pairs were reached.
    pub(super) fn reached(&self) -> usize {
        self.nodes.len()
    }

    /// The pair of the same extent as another one in which the roles are in these locations, if it was reached.
    pub(super) fn find(&mut self, like: &Pair, client: &Locations, server: &Locations) -> Option<PairIndex> {
        let client = Configuration { locations: client.clone(), ..like.client.clone() };
        let server = Configuration { locations: server.clone(), ..like.server.clone() };
        let place = (*self.clients.indexes.get(&client)?, *self.servers.indexes.get(&server)?);
        for (index, node) in self.nodes.iter().enumerate().skip(self.places.len()) {
            self.places.insert((node.client, node.server), PairIndex(index));
        }
        self.places.get(&place).copied()
    }

    /// Where the roles are in a pair.
    pub(super) fn pair(&self, index: PairIndex) -> Option<Pair> {
        let node = self.nodes.get(index.0)?;
        let client = self.clients.list.get(node.client)?.clone();
        let server = self.servers.list.get(node.server)?.clone();
        Some(Pair { client, server })
    }

    /// The moves of both roles in a pair, each sorted by event; none are left out but those settled by a split.
    pub(super) fn moves(&self, index: PairIndex) -> (Vec<Move>, Vec<Move>) {
        let Some(pair) = self.pair(index) else { return (Vec::new(), Vec::new()) };
        let mut client = self.moves_of(&pair, self.client, &pair.client.locations);
        let mut server = self.moves_of(&pair, self.server, &pair.server.locations);
        let split = self.nodes.get(index.0).and_then(|node| node.split.as_ref());
        if let Some(common) = split {
            client.retain(|step| common.contains(&step.arrow.event));
            server.retain(|step| common.contains(&step.arrow.event));
        } else {
            client.retain(|step| !pair.client.settled.contains(&step.arrow.event));
            server.retain(|step| !pair.server.settled.contains(&step.arrow.event));
        }
        (client, server)
    }

    /// The moves of one role. Each channel of a sub-session has what its replicated channels open, also where it has ended
    /// and others go on. Once all have ended nothing is opened.
    fn moves_of(&self, pair: &Pair, machine: &Machine<'_>, locations: &[StateIndex]) -> Vec<Move> {
        let mut moves = machine.moves(locations);
        if self.is_over(pair, machine, locations) {
            moves.retain(Move::is_linear);
        }
        moves
    }

    /// Whether this pair only stands for the parts it is split in.
    pub(super) fn is_split(&self, index: PairIndex) -> bool {
        self.nodes.get(index.0).is_some_and(|node| node.split.is_some())
    }

    /// What part of a session a pair is, unless it only stands for its parts.
    pub(super) fn extent(&self, index: PairIndex) -> Option<Extent> {
        if self.is_split(index) { None } else { Some(self.pair(index)?.client.extent) }
    }

    /// The events that led to a pair, first to last.
    pub(super) fn way(&self, index: PairIndex) -> Vec<Event> {
        let mut way = Vec::new();
        let mut at = index;
        while let Some((parent, event)) = self.nodes.get(at.0).and_then(|node| node.parent) {
            way.push(event);
            at = parent;
        }
        way.reverse();
        way
    }

    /// Where the roles were on the way to a pair.
    pub(super) fn passed(&self, index: PairIndex) -> Vec<(Locations, Locations)> {
        let parent = |&at: &PairIndex| self.nodes.get(at.0)?.parent.map(|(parent, _)| parent);
        std::iter::successors(parent(&index), parent)
            .filter_map(|at| self.pair(at))
            .map(|pair| (pair.client.locations, pair.server.locations))
            .collect()
    }

    /// Both roles take the same event: two linear moves or two that open a sub-session.
    pub(super) fn follow(&mut self, from: PairIndex, client: &Move, server: &Move) -> Result<(), TooMany> {
        let Some(pair) = self.pair(from) else { return Ok(()) };
        let parent = Some((from, client.arrow.event));
        match (client.arrow.action, server.arrow.action) {
            (Action::Step(_), Action::Step(_)) => {
                let next = Pair {
                    client: Configuration {
                        locations: self.client.step(&pair.client.locations, client),
                        ..pair.client.clone()
                    },
                    server: Configuration {
                        locations: self.server.step(&pair.server.locations, server),
                        ..pair.server.clone()
                    },
                };
                let counts = |pair: &Pair| (pair.client.locations.len(), pair.server.locations.len());
                let changed = counts(&next) != counts(&pair);
                self.arrive(parent, next, changed)
            }
            (Action::Spawn(client), Action::Spawn(server)) => {
                let settled = Rc::new(BTreeSet::new());
                let (extent, client, server) =
                    (Extent::Body, self.client.body(client), self.server.body(server));
                let client = Configuration { locations: client, extent, settled: settled.clone() };
                let server = Configuration { locations: server, extent, settled };
                self.arrive(parent, Pair { client, server }, true)
            }
            (Action::Step(_), Action::Spawn(_)) | (Action::Spawn(_), Action::Step(_)) => Ok(()),
        }
    }

    fn arrive(&mut self, parent: Option<(PairIndex, Event)>, pair: Pair, split: bool) -> Result<(), TooMany> {
        let several = pair.client.locations.len() > 1 || pair.server.locations.len() > 1;
        if !split || !several || self.grouping == Grouping::Together {
            return self.insert(parent, pair, None);
        }
        let (common, groups) = self.groups(&pair);
        if groups.len() < 2 {
            return self.insert(parent, pair, None);
        }
        let mut settled = BTreeSet::clone(&pair.client.settled);
        settled.extend(&common);
        let settled = Rc::new(settled);
        let extent = if pair.client.extent.is_body() { Extent::BodyPart } else { Extent::Part };
        self.insert(parent, pair, Some(common))?;
        for (client, server) in groups {
            let client = Configuration { locations: client.into(), extent, settled: settled.clone() };
            let server = Configuration { locations: server.into(), extent, settled: settled.clone() };
            self.insert(parent, Pair { client, server }, None)?;
        }
        Ok(())
    }

    /// The replicated channels that run for good on both sides, and the groups of linear channels that share
    /// messages or other replicated channels. Channels with nothing left form one group together.
    fn groups(&self, pair: &Pair) -> (BTreeSet<Event>, Vec<ChannelGroup>) {
        let settled = &pair.client.settled;
        let ours = unchanging(self.client, &pair.client.locations);
        let others = unchanging(self.server, &pair.server.locations);
        let mut common = ours.clone();
        common.retain(|event| others.contains(event) && !settled.contains(event));
        let channels: Vec<(bool, StateIndex, Rc<super::machine::Reach>)> = pair
            .client
            .locations
            .iter()
            .map(|&location| (true, location, self.client.reach(location)))
            .chain(
                pair.server.locations.iter().map(|&location| (false, location, self.server.reach(location))),
            )
            .collect();
        // What one role alone has next to its channels, they do not share.
        let has = |is_client: bool, event: Event| {
            channels.iter().any(|(of_client, _, reach)| *of_client == is_client && reach.has(event))
        };
        let own: BTreeSet<Event> = [(true, &ours), (false, &others)]
            .into_iter()
            .flat_map(|(is_client, always)| {
                always.iter().filter(|event| !has(!is_client, **event)).collect::<Vec<_>>()
            })
            .copied()
            .collect();
        let apart = |event: &Event| common.contains(event) || settled.contains(event) || own.contains(event);
        // Groups are named by numbers; a channel that shares an event with a group joins it.
        let mut owners: BTreeMap<Event, usize> = BTreeMap::new();
        let mut classes = Classes::default();
        for (number, (_, _, reach)) in channels.iter().enumerate() {
            for event in reach.events().filter(|event| !apart(event)) {
                let owner = *owners.entry(event).or_insert(number);
                let (one, other) = (classes.root(number), classes.root(owner));
                if let Some(slot) = classes.parents.get_mut(one) {
                    *slot = other;
                }
            }
        }
        let mut groups: BTreeMap<Option<usize>, ChannelGroup> = BTreeMap::new();
        for (number, (is_client, location, reach)) in channels.iter().enumerate() {
            let idle = reach.events().all(|event| apart(&event));
            let name = if idle { None } else { Some(classes.root(number)) };
            let group = groups.entry(name).or_default();
            if *is_client { group.0.push(*location) } else { group.1.push(*location) }
        }
        (common, groups.into_values().collect())
    }

    fn insert(
        &mut self,
        parent: Option<(PairIndex, Event)>,
        pair: Pair,
        split: Option<BTreeSet<Event>>,
    ) -> Result<(), TooMany> {
        let product = pair.client.locations.len() > 1 || pair.server.locations.len() > 1;
        let (locations, others) = (pair.client.locations.clone(), pair.server.locations.clone());
        let (client, server) = (self.clients.index(pair.client), self.servers.index(pair.server));
        let new = match &mut self.seen {
            Seen::Pairs(pairs) => pairs.insert((client, server)),
            Seen::Classes(classes) => classes.unite(client, server),
        };
        if !new {
            return Ok(());
        }
        if product {
            self.products += 1;
            self.channels += locations.len() + others.len();
        }
        let products = self.products > self.most_products || self.channels > CHANNELS_LIMIT;
        if products || self.nodes.len() >= PAIR_LIMIT {
            let products = self.products.saturating_sub(1);
            return Err(TooMany { products, pairs: self.nodes.len(), client: locations, server: others });
        }
        self.nodes.push(PairNode { client, server, parent, split });
        Ok(())
    }
}

/// The replicated channels that run for good in a configuration and open the same body all the time. One that is a
/// branch of a choice may open another body in another state: comparing it in one pair would leave out that body.
fn unchanging(machine: &Machine<'_>, locations: &[StateIndex]) -> BTreeSet<Event> {
    let reaches: Vec<_> = locations.iter().map(|&location| machine.reach(location)).collect();
    let always = reaches.iter().flat_map(|reach| reach.always());
    let same = |(event, body): &(Event, StateIndex)| {
        let mut having = reaches.iter().filter(|reach| reach.has(*event));
        having.all(|reach| reach.only_body(*event) == Some(*body))
    };
    always.filter(same).map(|(event, _)| event).collect()
}
