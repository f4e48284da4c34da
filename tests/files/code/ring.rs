//! A ring buffer that overwrites what is oldest.

use std::fmt;
use std::iter::FromIterator;

/// Why a ring could not be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RingError {
    /// A ring holds at least one thing.
    NoCapacity,
    TooLarge { wanted: usize, most: usize },
}

impl fmt::Display for RingError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RingError::NoCapacity => write!(formatter, "a ring needs a capacity of one or more"),
            RingError::TooLarge { wanted, most } => {
                write!(formatter, "{wanted} is more than the {most} that a ring can hold")
            }
        }
    }
}

const MOST: usize = 1 << 20;

/// Holds the newest `capacity` things.
#[derive(Debug)]
pub struct Ring<T> {
    slots: Vec<Option<T>>,
    next: usize,
    length: usize,
}

impl<T> Ring<T> {
    /// Makes an empty ring.
    ///
    /// # Errors
    /// When `capacity` is zero or above a million.
    pub fn new(capacity: usize) -> Result<Self, RingError> {
        if capacity == 0 {
            return Err(RingError::NoCapacity);
        }
        if capacity > MOST {
            return Err(RingError::TooLarge { wanted: capacity, most: MOST });
        }
        let mut slots = Vec::with_capacity(capacity);
        slots.resize_with(capacity, || None);
        Ok(Ring { slots, next: 0, length: 0 })
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.length
    }

    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Adds a thing, and gives the oldest one back where it took its place.
    pub fn push(&mut self, thing: T) -> Option<T> {
        let capacity = self.slots.len();
        let replaced = self.slots[self.next].replace(thing);
        self.next = (self.next + 1) % capacity;
        if replaced.is_none() {
            self.length += 1;
        }
        replaced
    }

    /// From the oldest to the newest.
    pub fn iter(&self) -> impl Iterator<Item = &T> + '_ {
        let capacity = self.slots.len();
        let start = (self.next + capacity - self.length) % capacity;
        (0..self.length).filter_map(move |offset| self.slots[(start + offset) % capacity].as_ref())
    }
}

/// What can be summed up.
pub trait Summary {
    type Output;

    fn summarise(&self) -> Self::Output;

    fn is_known(&self) -> bool {
        true
    }
}

impl Summary for Ring<f64> {
    type Output = Option<f64>;

    fn summarise(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.iter().sum::<f64>() / self.len() as f64)
    }
}

macro_rules! ring {
    ($($thing:expr),+ $(,)?) => {{
        let things = vec![$($thing),+];
        let mut made = Ring::new(things.len()).expect("one thing or more");
        for thing in things {
            made.push(thing);
        }
        made
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_overwritten() {
        let mut numbers = ring![1, 2, 3];
        assert_eq!(numbers.push(4), Some(1));
        assert_eq!(numbers.iter().copied().collect::<Vec<_>>(), vec![2, 3, 4]);
    }

    #[test]
    fn a_ring_of_nothing_is_refused() {
        assert_eq!(Ring::<u8>::new(0).unwrap_err(), RingError::NoCapacity);
    }
}
