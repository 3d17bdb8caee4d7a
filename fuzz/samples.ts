/** Valid pieces of messages and stored files, shared by several targets as seeds. */

export const NOW = 1_700_000_000_000;
export const HEX64 = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';

/** A pin of an edge, without the fields that its network adds. */
export const PIN = {
  id: 'abc',
  url: 'http://a.example/f',
  bytes: 10,
  tag: 'e.a',
  length: 5,
  proof: HEX64,
  expiresAt: NOW + 1e6,
};

/** The same pin, in the form that edges send each other. */
export const NETWORK_PIN_SAMPLE = { ...PIN, at: NOW, until: NOW + 1e6 };
