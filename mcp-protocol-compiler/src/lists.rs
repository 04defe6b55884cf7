//! Many lists, one behind the other in one allocation.

/// Lists that do not change, numbered from 0.
#[derive(Clone, Debug)]
pub(crate) struct Lists<T> {
    members: Vec<T>,
    /// Where each list ends among the members; it begins where the one before it ends.
    ends: Vec<usize>,
}

impl<T> Lists<T> {
    /// The members of a list; none if the list does not exist.
    pub(crate) fn get(&self, list: usize) -> &[T] {
        let start = list.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or_default();
        self.ends.get(list).and_then(|end| self.members.get(start..*end)).unwrap_or_default()
    }

    /// Every list, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[T]> {
        (0..self.ends.len()).map(|list| self.get(list))
    }
}

impl<T: Copy> Lists<T> {
    /// So many lists with members that name theirs; each list has its members in the order in which they come. What
    /// names no list is left out. The members are gone through twice.
    pub(crate) fn grouped(count: usize, members: impl Iterator<Item = (usize, T)> + Clone) -> Lists<T> {
        let members = members.filter(|(list, _)| *list < count);
        // First how many members each list has, then where it starts, and once it is filled where it ends.
        let mut ends = vec![0; count];
        for (list, _) in members.clone() {
            if let Some(size) = ends.get_mut(list) {
                *size += 1;
            }
        }
        let mut total = 0;
        for place in &mut ends {
            total += std::mem::replace(place, total);
        }
        let mut grouped: Vec<T> = members.clone().map(|(_, member)| member).collect();
        for (list, member) in members {
            let Some(place) = ends.get_mut(list) else { continue };
            if let Some(slot) = grouped.get_mut(*place) {
                *slot = member;
            }
            *place += 1;
        }
        Lists { members: grouped, ends }
    }
}

impl<T, List: IntoIterator<Item = T>> FromIterator<List> for Lists<T> {
    fn from_iter<Source: IntoIterator<Item = List>>(lists: Source) -> Self {
        let (mut members, mut ends) = (Vec::new(), Vec::new());
        for list in lists {
            members.extend(list);
            ends.push(members.len());
        }
        Lists { members, ends }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_by_number() {
        let lists: Lists<u8> = [vec![1, 2], vec![], vec![3]].into_iter().collect();
        assert_eq!(lists.iter().collect::<Vec<_>>(), [&[1, 2][..], &[], &[3]]);
        assert_eq!(lists.get(3), &[] as &[u8]);
    }

    #[test]
    fn members_are_grouped_in_the_order_in_which_they_come() {
        let members = [(2, 'a'), (0, 'b'), (2, 'c'), (7, 'd'), (0, 'e')];
        let lists = Lists::grouped(3, members.into_iter());
        assert_eq!(lists.iter().collect::<Vec<_>>(), [&['b', 'e'][..], &[], &['a', 'c']]);
        assert_eq!(Lists::grouped(0, members.into_iter()).iter().count(), 0);
    }
}
