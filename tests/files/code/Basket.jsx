// The basket at the side of the shop.
import React, { useEffect, useMemo, useState } from "react";
import { formatPrice } from "./prices";

const FREE_SHIPPING_CENTS = 5000;

/** Price of one row: quantity discounts included. */
export function rowPrice(row) {
  const discount = row.quantity >= 10 ? 0.9 : 1;
  return Math.round(row.quantity * row.priceCents * discount);
}

const sum = (numbers) => numbers.reduce((all, each) => all + each, 0);

/**
 * Keeps the basket in the browser, so that it outlives a reload.
 */
export class BasketStore {
  #key = "basket";

  constructor(storage) {
    this.storage = storage;
  }

  // A broken entry is thrown away: it would keep the shop from starting.
  load() {
    const text = this.storage.getItem(this.#key);
    if (text === null) return [];
    try {
      const rows = JSON.parse(text);
      return Array.isArray(rows) ? rows : [];
    } catch (error) {
      console.warn("The stored basket was unreadable and is emptied.", error);
      this.storage.removeItem(this.#key);
      return [];
    }
  }

  save(rows) {
    this.storage.setItem(this.#key, JSON.stringify(rows));
  }

  static forBrowser() {
    return new BasketStore(window.localStorage);
  }

  onChange = (listener) => {
    window.addEventListener("storage", (event) => {
      if (event.key === this.#key) listener(this.load());
    });
  };
}

function useBasket(store) {
  const [rows, setRows] = useState(() => store.load());
  useEffect(() => store.save(rows), [store, rows]);
  return [rows, setRows];
}

/* The component itself. It shows the rows, the price of each, and how much is
   missing until shipping is free. */
const Basket = ({ store, onCheckout }) => {
  const [rows, setRows] = useBasket(store);
  const total = useMemo(() => sum(rows.map(rowPrice)), [rows]);
  const missing = FREE_SHIPPING_CENTS - total;

  function changeQuantity(sku, quantity) {
    if (quantity < 0) {
      return;
    }
    const changed = rows.map((row) => (row.sku === sku ? { ...row, quantity } : row));
    setRows(changed.filter((row) => row.quantity > 0));
  }

  if (rows.length === 0) {
    return <p className="basket basket--empty">Your basket is empty.</p>;
  }
  return (
    <section className="basket" aria-label="Basket">
      <ul>
        {rows.map((row) => (
          <li key={row.sku}>
            <span>{row.title}</span>
            <input
              type="number"
              value={row.quantity}
              onChange={(event) => changeQuantity(row.sku, Number(event.target.value))}
            />
            <span>{formatPrice(rowPrice(row))}</span>
          </li>
        ))}
      </ul>
      {missing > 0 ? (
        <p>{formatPrice(missing)} more and shipping is free.</p>
      ) : (
        <p>Shipping is free.</p>
      )}
      <button onClick={() => onCheckout(rows)}>Checkout for {formatPrice(total)}</button>
    </section>
  );
};

Basket.sorted = function (rows) {
  return [...rows].sort((one, other) => one.title.localeCompare(other.title));
};

export default Basket;
