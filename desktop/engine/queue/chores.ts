/** Work in the background, such as the deletion of files, for which only the daemon's end waits. */

export class Chores {
  readonly #underWay = new Set<Promise<void>>();

  /** Tracks work, so that `done` waits for it. @returns when it has ended, failed or not */
  add(work: Promise<unknown>): Promise<void> {
    const kept = work
      .then(() => {})
      .catch(() => {
        // A file that cannot be deleted must not end the daemon.
      })
      .finally(() => this.#underWay.delete(kept));
    this.#underWay.add(kept);
    return kept;
  }

  /** Resolves when all work that is under way now has ended. */
  async done(): Promise<void> {
    await Promise.all(this.#underWay);
  }
}
