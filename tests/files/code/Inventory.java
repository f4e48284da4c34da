/*
 * Part of the warehouse example.
 */
package example.warehouse;

import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * Counts what lies on the shelves.
 *
 * <p>Not safe for use by several threads; wrap it in a lock.
 */
@Singleton
public final class Inventory implements Iterable<Inventory.Item> {
    private static final int LOW = 5;

    private final Map<String, Item> items = new HashMap<>();
    private int changes;

    /** One kind of thing on a shelf. */
    public static final class Item {
        private final String sku;
        private int count;

        Item(String sku, int count) {
            this.sku = sku;
            this.count = count;
        }

        public String sku() {
            return sku;
        }

        public int count() {
            return count;
        }
    }

    public enum Change {
        ADDED,
        REMOVED;

        Change inverse() {
            return this == ADDED ? REMOVED : ADDED;
        }
    }

    public record Movement(String sku, int count, Change change) {
        public Movement {
            if (count <= 0) {
                throw new IllegalArgumentException("count must be positive: " + count);
            }
        }
    }

    interface Listener {
        void moved(Movement movement);
    }

    public Inventory(Collection<Item> known) {
        for (Item item : known) {
            items.put(item.sku, item);
        }
    }

    /**
     * Applies a movement.
     *
     * @param movement what came or went
     * @return how many there are now
     * @throws IllegalStateException when more would go than there is
     */
    @Audited
    @Transactional(readOnly = false)
    public int apply(Movement movement) {
        Item item = items.computeIfAbsent(movement.sku(), sku -> new Item(sku, 0));
        int next = switch (movement.change()) {
            case ADDED -> item.count + movement.count();
            case REMOVED -> item.count - movement.count();
        };
        if (next < 0) {
            throw new IllegalStateException(
                "There are only " + item.count + " of " + movement.sku() + " left.");
        }
        item.count = next;
        changes++;
        return next;
    }

    // Shown on the front page, so it must stay cheap.
    public long low() {
        return items.values().stream().filter(item -> item.count < LOW).count();
    }

    public Optional<Item> find(Predicate<Item> wanted) {
        return items.values().stream().filter(wanted).findFirst();
    }

    @Override
    public java.util.Iterator<Item> iterator() {
        return items.values().iterator();
    }
}
