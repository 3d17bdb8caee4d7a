/**
 * The parts of one answer, of all worker processes. It is complete once each process that was asked
 * has sent its part or has ended: dead processes are not waited for, busy ones are, for up to `ms`.
 */
export class Collection<Worker> {
  readonly parts: unknown[] = [];
  readonly #silent: Set<Worker>;
  readonly #ended = Promise.withResolvers<void>();
  readonly #timer: NodeJS.Timeout;

  /** @param ms milliseconds after which processes that are still silent are left out */
  constructor(asked: Iterable<Worker>, ms: number) {
    this.#silent = new Set(asked);
    this.#timer = setTimeout(this.#ended.resolve, ms);
    this.#look();
  }

  onPart(worker: Worker, part: unknown): void {
    this.parts.push(part);
    this.onEnded(worker);
  }

  onEnded(worker: Worker): void {
    this.#silent.delete(worker);
    this.#look();
  }

  /** Resolves with the parts, in the order in which they came. */
  async complete(): Promise<unknown[]> {
    await this.#ended.promise;
    return this.parts;
  }

  #look(): void {
    if (this.#silent.size > 0) return;
    clearTimeout(this.#timer);
    this.#ended.resolve();
  }
}
