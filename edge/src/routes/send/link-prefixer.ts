/**
 * Makes the links of a page lead through an edge: before each absolute link to one of some hosts goes
 * the address of the edge, as a person would write it. The page may come in pieces of any size.
 */

export class LinkPrefixer {
  /** Links as they stand in pages, each up to the slash after the host. */
  readonly #links: readonly Buffer[];
  readonly #longest: number;
  readonly #prefix: Buffer;
  /** End of the last piece, in which a link may begin. */
  #held: Buffer = Buffer.alloc(0);

  /**
   * @param hosts with a port if the links have one, lower case
   * @param base URL of the edge, without a slash at its end
   */
  constructor(hosts: readonly string[], base: string) {
    this.#links = hosts.flatMap((host) =>
      ['https', 'http'].map((scheme) => Buffer.from(`${scheme}://${host}/`)),
    );
    this.#longest = Math.max(0, ...this.#links.map((link) => link.length));
    this.#prefix = Buffer.from(`${base}/`);
  }

  /** Takes a piece of the page. @returns what can be sent of it and of earlier ones */
  push(piece: Buffer): Buffer {
    const page = Buffer.concat([this.#held, piece]);
    const out: Buffer[] = [];
    let sent = 0;
    for (const at of this.#found(page)) {
      out.push(page.subarray(sent, at), this.#prefix);
      sent = at;
    }
    // A link that is complete begins before `free`, and has been found.
    const free = Math.max(sent, page.length - this.#longest + 1);
    const last = Math.max(free, this.#endOfLink(page, sent));
    this.#held = page.subarray(last);
    out.push(page.subarray(sent, last));
    return Buffer.concat(out);
  }

  /** Returns the rest of the page. */
  end(): Buffer {
    const rest = this.#held;
    this.#held = Buffer.alloc(0);
    return rest;
  }

  /** Returns where the complete links of a page begin, in order. */
  #found(page: Buffer): number[] {
    const found: number[] = [];
    for (const link of this.#links) {
      for (let at = page.indexOf(link); at >= 0; at = page.indexOf(link, at + link.length)) {
        found.push(at);
      }
    }
    return found.sort((a, b) => a - b);
  }

  /** Returns the end of the link at a place, so that no part of it is found again; 0: no link. */
  #endOfLink(page: Buffer, at: number): number {
    const link = this.#links.find((one) => page.subarray(at, at + one.length).equals(one));
    return link === undefined ? 0 : at + link.length;
  }
}
