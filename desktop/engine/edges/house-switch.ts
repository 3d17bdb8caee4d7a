/** Looks for edges on the local network for as long as the user wants that. */

import type { IdentifiedEdge } from '@millrace/shared/house/house-list';
import type { House, HouseEdges } from './house-edges.ts';

export class HouseSwitch {
  #on = false;
  #house: HouseEdges | undefined;

  /** Source of the found edges; undefined: nobody looks. */
  get house(): House | undefined {
    return this.#house;
  }

  get edges(): readonly IdentifiedEdge[] {
    return this.#house?.edges ?? [];
  }

  /** Begins or ends to look. Resolves once it has begun. */
  async set(on: boolean): Promise<void> {
    if (on === this.#on) return;
    this.#on = on;
    this.#house?.close();
    this.#house = undefined;
    if (!on) return;
    // Imported here: most users have no such edge.
    const { HouseEdges: Looking } = await import('./house-edges.ts');
    if (this.#on && this.#house === undefined) this.#house = new Looking();
  }

  close(): void {
    void this.set(false);
  }
}
