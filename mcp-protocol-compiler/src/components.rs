//! What lies on circles of a graph together.

/// The component of each node. A component has a higher number than all that it leads to.
pub(crate) fn components<Next>(count: usize, successors: impl Fn(usize) -> Next) -> Vec<usize>
where
    Next: IntoIterator<Item = usize>,
{
    const UNSEEN: usize = usize::MAX;
    let mut order = vec![UNSEEN; count];
    let mut low = vec![UNSEEN; count];
    let mut component = vec![UNSEEN; count];
    let mut waiting: Vec<usize> = Vec::new();
    let mut next_order = 0;
    let mut next_component = 0;
    let at = |list: &[usize], index: usize| list.get(index).copied().unwrap_or(UNSEEN);
    let put = |list: &mut [usize], index: usize, value: usize| {
        if let Some(place) = list.get_mut(index) {
            *place = value;
        }
    };
    for root in 0..count {
        if at(&order, root) != UNSEEN {
            continue;
        }
        let mut path: Vec<(usize, Next::IntoIter)> = Vec::new();
        let mut enter = Some(root);
        loop {
            if let Some(node) = enter.take() {
                put(&mut order, node, next_order);
                put(&mut low, node, next_order);
                next_order += 1;
                waiting.push(node);
                path.push((node, successors(node).into_iter()));
            }
            let Some((node, rest)) = path.last_mut() else { break };
            let node = *node;
            match rest.next() {
                Some(next) if at(&order, next) == UNSEEN => enter = Some(next),
                Some(next) => {
                    if at(&component, next) == UNSEEN {
                        let least = at(&low, node).min(at(&order, next));
                        put(&mut low, node, least);
                    }
                }
                None => {
                    path.pop();
                    if at(&low, node) == at(&order, node) {
                        while let Some(member) = waiting.pop() {
                            put(&mut component, member, next_component);
                            if member == node {
                                break;
                            }
                        }
                        next_component += 1;
                    }
                    if let Some((parent, _)) = path.last() {
                        let least = at(&low, *parent).min(at(&low, node));
                        put(&mut low, *parent, least);
                    }
                }
            }
        }
    }
    component
}
