import { EventEmitter } from "node:events";

/** How urgent a task is; lower runs first. */
export enum Priority {
  Now = 0,
  Soon = 10,
  Whenever = 100,
}

export interface Task<T> {
  readonly id: string;
  readonly priority: Priority;
  run(signal: AbortSignal): Promise<T>;
}

export type Outcome<T> =
  | { state: "done"; value: T }
  | { state: "failed"; error: Error; attempts: number }
  | { state: "cancelled" };

function delay(ms: number): Promise<void>;
function delay(ms: number, signal: AbortSignal): Promise<void>;
function delay(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new Error("aborted"));
    });
  });
}

// Injected by the container; see registry.ts.
@Injectable({ scope: "singleton" })
export class TaskQueue<T> extends EventEmitter {
  private readonly waiting: Task<T>[] = [];
  private readonly running = new Map<string, AbortController>();

  constructor(private readonly limit: number, private readonly retries = 3) {
    super();
  }

  get size(): number {
    return this.waiting.length + this.running.size;
  }

  @Traced("queue.add")
  add(task: Task<T>): void {
    const at = this.waiting.findIndex((each) => each.priority > task.priority);
    this.waiting.splice(at < 0 ? this.waiting.length : at, 0, task);
    this.startNext();
  }

  /** Takes a task out of the queue, or stops it where it runs. */
  cancel(id: string): boolean {
    const at = this.waiting.findIndex((each) => each.id === id);
    if (at >= 0) {
      this.waiting.splice(at, 1);
      this.emit("end", id, { state: "cancelled" } satisfies Outcome<T>);
      return true;
    }
    const controller = this.running.get(id);
    controller?.abort();
    return controller !== undefined;
  }

  private startNext(): void {
    while (this.running.size < this.limit && this.waiting.length > 0) {
      const task = this.waiting.shift()!;
      const controller = new AbortController();
      this.running.set(task.id, controller);
      void this.attempt(task, controller).then((outcome) => {
        this.running.delete(task.id);
        this.emit("end", task.id, outcome);
        this.startNext();
      });
    }
  }

  private async attempt(task: Task<T>, controller: AbortController): Promise<Outcome<T>> {
    let lastError = new Error("never run");
    for (let attempt = 1; attempt <= this.retries; attempt += 1) {
      try {
        return { state: "done", value: await task.run(controller.signal) };
      } catch (error) {
        if (controller.signal.aborted) return { state: "cancelled" };
        lastError = error instanceof Error ? error : new Error(String(error));
        this.emit("retry", task.id, attempt, lastError);
        await delay(2 ** attempt * 100, controller.signal);
      }
    }
    return { state: "failed", error: lastError, attempts: this.retries };
  }
}

export namespace Priorities {
  export const all = [Priority.Now, Priority.Soon, Priority.Whenever];

  export function parse(text: string): Priority {
    const found = all.find((each) => Priority[each].toLowerCase() === text.toLowerCase());
    if (found === undefined) throw new RangeError(`${text} is no priority`);
    return found;
  }
}
