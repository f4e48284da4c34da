import * as React from "react";

type Props<T> = {
  items: readonly T[];
  render: (item: T) => React.ReactNode;
};

/** Shows items page by page. */
export function Pages<T>({ items, render }: Props<T>): JSX.Element {
  const [page, setPage] = React.useState<number>(0);
  const shown = items.slice(page * 10, page * 10 + 10);
  return (
    <>
      <ol start={page * 10 + 1}>{shown.map((item, n) => <li key={n}>{render(item)}</li>)}</ol>
      <button disabled={page === 0} onClick={() => setPage(page - 1)}>
        Back
      </button>
    </>
  );
}

export const Empty: React.FC = () => <p>Nothing to show.</p>;
