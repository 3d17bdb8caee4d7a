/** A client's place in a stream. */
export interface Follower {
  /** Tells how far the client is, bytes. */
  at(position: number): void;
  leave(): void;
}
