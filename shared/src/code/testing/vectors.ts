/**
 * Parity that another implementation has computed: github.com/klauspost/reedsolomon v1.14.2, with
 * its default matrix. Byte j of data shard i is (31 i + 7 j + 13 i j + 1) mod 256, for 16 bytes. A Go
 * program of forty lines has called New(k, m) and Encode, and printed the SHA-256 of the parity
 * shards one after the other, and the first parity shard.
 */

export interface Vector {
  readonly k: number;
  readonly m: number;
  /** First parity shard, hexadecimal; only some name it. */
  readonly first?: string;
  /** SHA-256 of all parity shards, hexadecimal. */
  readonly sha256: string;
}

export const VECTORS: readonly Vector[] = [
  {
    ...{ k: 1, m: 1 },
    first: '01080f161d242b323940474e555c636a',
    sha256: '3456812eddd9d434d710db2158d4a600997d37835a2b4a80d0b84b029eda1003',
  },
  {
    ...{ k: 2, m: 1 },
    first: '43708182c7795013d6750437dfacd526',
    sha256: 'dffe0dae6a8609e3eda02e84056bef08c20c67ad7cc1d46e7c10283148a4c5f6',
  },
  {
    ...{ k: 3, m: 2 },
    first: '1e5cc6e8ae44b6b8befc26188e945608',
    sha256: '2ab4d991fbd9dbf6c3e1c94bdc8fe11974921139593b0941896aeb6c1aff961c',
  },
  {
    ...{ k: 4, m: 2 },
    first: 'f97e70e339f7d533356438bc84869d3f',
    sha256: 'ee73b13b88e1e6d6f3d529f8648c6826f8bc9bcf0f02d749fa1f8b36f68fe095',
  },
  {
    ...{ k: 5, m: 3 },
    first: 'c15ea164b304ced491044c2934c47384',
    sha256: '7f694f550fcc1af53983741b5bc791adefb6da1ee990a91c11478022dbb7720c',
  },
  {
    ...{ k: 6, m: 3 },
    first: 'c377bdba0064864e16f825ff12ccf3d6',
    sha256: 'b84fd2b2eedf8e7f88c99ebcdf03143c72465afc7fa44f74e07bb3b539224c93',
  },
  {
    ...{ k: 8, m: 4 },
    first: 'dd1eebee44147443b9a76dfbab9e8d97',
    sha256: '876a5f80faf7d39c25f99f4b18e2b145976a2f4a9ee89cb6ca4be2518d5fba70',
  },
  {
    ...{ k: 10, m: 4 },
    first: '0b43c516ade460c49ab998c167bfcfcb',
    sha256: 'cccce325df0f2cce2c8524e3de76ff0a8241fcf9ca519a4270ee158cd12a38d4',
  },
  {
    ...{ k: 17, m: 3 },
    sha256: 'c2cce9ffb98b4a6c3de7a59e05c384aa9171085e5f91507096daf248bb65079d',
  },
  {
    ...{ k: 32, m: 16 },
    sha256: '530db2956168546c7046779bb1370c7bbfc29a200ef1e82314f3931a2282a7ba',
  },
];
