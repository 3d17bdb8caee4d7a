/**
 * Torrents that other programs have made: those of version 1 by torf 4.3.1, the others by libtorrent
 * 2.1.1. `contentOf` makes their files.
 */

export interface Made {
  readonly document: Uint8Array;
  /** Infohashes as that program tells them; zeros: it has none of the version. */
  readonly v1: string;
  readonly v2: string;
}

/** Files of the torrents of several, with their lengths in bytes, in the folder `folder`. */
export const FILES = [
  ['a.bin', 40_000],
  ['inside/b c.bin', 100],
  ['z.bin', 70_000],
] as const;
/** Bytes of `one.bin`, the file of the other torrents. */
export const ONE_BYTES = 50_000;

/** Makes the content of a file by its place in `FILES`; that of `one.bin`: 9. */
export function contentOf(place: number, length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (i * 31 + (i >> 8) * 7 + place * 13) & 0xff);
}

/** Adds web seeds to a torrent (BEP 19), without a change of its infohash. */
export function withSeeds(document: Uint8Array, seeds: readonly string[]): Uint8Array {
  const list = seeds.map((seed) => `${seed.length}:${seed}`).join('');
  const ending = bytesOf(`8:url-listl${list}ee`);
  return Uint8Array.from([...document.subarray(0, -1), ...ending]);
}

function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(text, (char) => char.charCodeAt(0));
}

const made = (text: string, v1: string, v2: string): Made => ({
  document: bytesOf(atob(text)),
  v1,
  v2,
});

export const SINGLE_V1 = made(
  'ZDEwOmNyZWF0ZWQgYnkxMDp0b3JmIDQuMy4xNDppbmZvZDY6bGVuZ3RoaTUwMDAwZTQ6bmFtZTc6b25lLmJpbjEyOn' +
    'BpZWNlIGxlbmd0aGkxNjM4NGU2OnBpZWNlczgwOlKihLCnsOk7t570LeKxLOkKRXrb7tbKrA2ZEN1dmOpSSAuy8kwv' +
    'HVHq8kC3T8+gkYGgGGNbheMVBSiZWefSqwwvT9sO30sYbavQiQREtXoQZWU=',
  '626b34977fb6f3f92f4180bcea4fcaa3a9f475d1',
  '0000000000000000000000000000000000000000000000000000000000000000',
);

export const SEVERAL_V1 = made(
  'ZDEwOmNyZWF0ZWQgYnkxMDp0b3JmIDQuMy4xNDppbmZvZDU6ZmlsZXNsZDY6bGVuZ3RoaTQwMDAwZTQ6cGF0aGw1Om' +
    'EuYmluZWVkNjpsZW5ndGhpMTAwZTQ6cGF0aGw2Omluc2lkZTc6YiBjLmJpbmVlZDY6bGVuZ3RoaTcwMDAwZTQ6cGF0' +
    'aGw1OnouYmluZWVlNDpuYW1lNjpmb2xkZXIxMjpwaWVjZSBsZW5ndGhpMTYzODRlNjpwaWVjZXMxNDA6gpbvK6Ks5C' +
    'DkXiAZkWzHrya23d6bA3xaneZ+QYLm3brXBXMLdZBt+4YXRET/D521+5vMKFHcisCrEidt2oUMQnCPLuFiS5VuKba/' +
    '4IgSLRSfcUiuMQQ71dRKCsRC6aEKBr1VAJ513OjsM2Xyf1aTOjodcLxwSrFk2a+c721ZQxDxi4gVv5COfFTHGwVlZQ' +
    '==',
  'e735d297429398300026e8a5867c546fd2cfcc90',
  '0000000000000000000000000000000000000000000000000000000000000000',
);

export const SINGLE_V2 = made(
  'ZDQ6aW5mb2Q5OmZpbGUgdHJlZWQ3Om9uZS5iaW5kMDpkNjpsZW5ndGhpNTAwMDBlMTE6cGllY2VzIHJvb3QzMjp68R' +
    'mkGqtk308zxKfOCuwZVRlLSEAW2F6a/N+laqBIWWVlZTEyOm1ldGEgdmVyc2lvbmkyZTQ6bmFtZTc6b25lLmJpbjEy' +
    'OnBpZWNlIGxlbmd0aGkxNjM4NGVlMTI6cGllY2UgbGF5ZXJzZDMyOnrxGaQaq2TfTzPEp84K7BlVGUtIQBbYXpr836' +
    'VqoEhZMTI4OpiHA/hQtmI7flZT7wNEzeQ4f9RaLzIpImA6jb9HTO2l06gg95/UYkgvXLuRW4tLq3M4NfjCk/KjXF/w' +
    'rlWW1f/JCYPYjmxib//lEu72jA/GFmtJPQopIUy0BEwezfvGes6cHDIGTIu2s4Q9ItIICVG3OVMrSupCOFOuCTOEYH' +
    'KxZWU=',
  '0000000000000000000000000000000000000000',
  '321c84ba8a45d49c7794f7c24966cf420ac4080f4536288b46aa7039a887413f',
);

export const SEVERAL_V2 = made(
  'ZDQ6aW5mb2Q5OmZpbGUgdHJlZWQ1OmEuYmluZDA6ZDY6bGVuZ3RoaTQwMDAwZTExOnBpZWNlcyByb290MzI6ddeh1q' +
    'ftuMdquKO4KZiikU7w41k1Yy1e+hBr6JDxHp5lZTY6aW5zaWRlZDc6YiBjLmJpbmQwOmQ2Omxlbmd0aGkxMDBlMTE6' +
    'cGllY2VzIHJvb3QzMjp/+XAdOOY6CsNoZpdblQRFna+rzPqSoDOhuUbAyMuH82VlZTU6ei5iaW5kMDpkNjpsZW5ndG' +
    'hpNzAwMDBlMTE6cGllY2VzIHJvb3QzMjpJz3bX/D/Zb0ZVXWtah6IIg6g3sMImqQ1vTQ4b4Mchi2VlZTEyOm1ldGEg' +
    'dmVyc2lvbmkyZTQ6bmFtZTY6Zm9sZGVyMTI6cGllY2UgbGVuZ3RoaTMyNzY4ZWUxMjpwaWVjZSBsYXllcnNkMzI6Sc' +
    '921/w/2W9GVV1rWoeiCIOoN7DCJqkNb00OG+DHIYs5NjpuMnexlNkEVgB5keArBxJ8cpk8XBmic/BMEUFlvO1otHwF' +
    'cxpCGwRqgrcJL68v3geGc6IfVRPJN2h+l0qdzRmMzC1okM31X42GS+ZeiA2abu+U7uCvrc+emkQapLS8zVozMjp116' +
    'HWp+24x2q4o7gpmKKRTvDjWTVjLV76EGvokPEenjY0OhDAaxBf5gbaeHWYo3/RVLpx8Q7vtq+IbAS//nnBnrZRXtHz' +
    'zPdlgFX25couQ+u6EzHHl3quJXHcsI8qdooqMuBlZQ==',
  '0000000000000000000000000000000000000000',
  '2dc52e9f6b5d3fb2e5568c9f99898708c8fdc453b3bc7b0513b4d5ce4d9dd3e1',
);

export const SINGLE_HYBRID = made(
  'ZDQ6aW5mb2Q5OmZpbGUgdHJlZWQ3Om9uZS5iaW5kMDpkNjpsZW5ndGhpNTAwMDBlMTE6cGllY2VzIHJvb3QzMjp68R' +
    'mkGqtk308zxKfOCuwZVRlLSEAW2F6a/N+laqBIWWVlZTY6bGVuZ3RoaTUwMDAwZTEyOm1ldGEgdmVyc2lvbmkyZTQ6' +
    'bmFtZTc6b25lLmJpbjEyOnBpZWNlIGxlbmd0aGkxNjM4NGU2OnBpZWNlczgwOlKihLCnsOk7t570LeKxLOkKRXrb7t' +
    'bKrA2ZEN1dmOpSSAuy8kwvHVHq8kC3T8+gkYGgGGNbheMVBSiZWefSqwwvT9sO30sYbavQiQREtXoQZTEyOnBpZWNl' +
    'IGxheWVyc2QzMjp68RmkGqtk308zxKfOCuwZVRlLSEAW2F6a/N+laqBIWTEyODqYhwP4ULZiO35WU+8DRM3kOH/UWi' +
    '8yKSJgOo2/R0ztpdOoIPef1GJIL1y7kVuLS6tzODX4wpPyo1xf8K5VltX/yQmD2I5sYm//5RLu9owPxhZrST0KKSFM' +
    'tARMHs37xnrOnBwyBkyLtrOEPSLSCAlRtzlTK0rqQjhTrgkzhGBysWVl',
  '3cce253e557d115d80e16d8c2eeb67ccda18038b',
  '037df59ea75fa4da5461333b1f28b135534c8fa00b2b9042e2a5b2ee5634a99c',
);

export const SEVERAL_HYBRID = made(
  'ZDQ6aW5mb2Q5OmZpbGUgdHJlZWQ1OmEuYmluZDA6ZDY6bGVuZ3RoaTQwMDAwZTExOnBpZWNlcyByb290MzI6ddeh1q' +
    'ftuMdquKO4KZiikU7w41k1Yy1e+hBr6JDxHp5lZTY6aW5zaWRlZDc6YiBjLmJpbmQwOmQ2Omxlbmd0aGkxMDBlMTE6' +
    'cGllY2VzIHJvb3QzMjp/+XAdOOY6CsNoZpdblQRFna+rzPqSoDOhuUbAyMuH82VlZTU6ei5iaW5kMDpkNjpsZW5ndG' +
    'hpNzAwMDBlMTE6cGllY2VzIHJvb3QzMjpJz3bX/D/Zb0ZVXWtah6IIg6g3sMImqQ1vTQ4b4Mchi2VlZTU6ZmlsZXNs' +
    'ZDY6bGVuZ3RoaTQwMDAwZTQ6cGF0aGw1OmEuYmluZWVkNDphdHRyMTpwNjpsZW5ndGhpOTE1MmU0OnBhdGhsNDoucG' +
    'FkNDo5MTUyZWVkNjpsZW5ndGhpMTAwZTQ6cGF0aGw2Omluc2lkZTc6YiBjLmJpbmVlZDQ6YXR0cjE6cDY6bGVuZ3Ro' +
    'aTE2Mjg0ZTQ6cGF0aGw0Oi5wYWQ1OjE2Mjg0ZWVkNjpsZW5ndGhpNzAwMDBlNDpwYXRobDU6ei5iaW5lZWQ0OmF0dH' +
    'IxOnA2Omxlbmd0aGkxMTkyMGU0OnBhdGhsNDoucGFkNToxMTkyMGVlZTEyOm1ldGEgdmVyc2lvbmkyZTQ6bmFtZTY6' +
    'Zm9sZGVyMTI6cGllY2UgbGVuZ3RoaTE2Mzg0ZTY6cGllY2VzMTgwOoKW7yuirOQg5F4gGZFsx68mtt3emwN8Wp3mfk' +
    'GC5t261wVzC3WQbfvpGbdLPKc7sUZE6yLQswoQBfJra6cm+dHKP5kjR06QRiqNORGX5EfpFWir+avLvPRUwij44BF9' +
    'pZn0fMbELOA3Px8uclxNWWfaHuKFc8Jd0gc9OGOMnD/BDEhkpCGf8+lUhlgnkSaiE2HvRGbdJFvxiv0PuOQ3z5I4WH' +
    '7IUyCEoV2DOwYUDYzlYhP8tWUxMjpwaWVjZSBsYXllcnNkMzI6Sc921/w/2W9GVV1rWoeiCIOoN7DCJqkNb00OG+DH' +
    'IYsxNjA60RG8cKnB4HXJDJrP1ANL9Yv77v68h6oognPCl5JEj6r/zZdoETrS0o9oZf6bYqFqE+J+DHo7pTUYFpuNJQ' +
    'zkPJGUjscIRK5iFTz8weH+v6b1RD3OxIwfRC1REteZXOjhna+rkm+9uoVIyCTkGbtsCFOOV1MGnD/I3ahyT4JxxxLR' +
    '+QFA241PVAjbUTcKJxbOw+bwaGWsmKiU+bT9ZEc+UDMyOnXXodan7bjHarijuCmYopFO8ONZNWMtXvoQa+iQ8R6eOT' +
    'Y6yFvpmO0WVtGf6EgvEZFFP5gG3lWzBSE3Ntj/rSQHOfw32QLhBF63nkzq3jvtsdKrrep0yjyz8ATxa5aYOQhc46q2' +
    'eg2i8cUFdPhRZFHiEUR4pS9QLThaHAET5Re+8JwjZWU=',
  'fc2ca174c73dbab158a6aa1749666c60bd620234',
  'ec642fa6e386f49a37599d873c41c120184c2e9be009b2edb69c7a60eb0e6cfc',
);

/** A file of `severalV1`; padding has no content of its own. */
export interface Packed {
  readonly name: string;
  readonly content: Uint8Array;
  readonly isPadding?: boolean;
}

/** Makes a torrent of version 1 of several files in a folder, with one web seed or more. */
export function severalV1(
  folder: string,
  files: readonly Packed[],
  pieceBytes: number,
  seeds: readonly string[],
  sha1: (bytes: Uint8Array) => Uint8Array,
): Uint8Array {
  const all = Uint8Array.from(files.flatMap(({ content }) => [...content]));
  const pieces: number[] = [];
  for (let at = 0; at < all.length; at += pieceBytes) {
    pieces.push(...sha1(all.subarray(at, at + pieceBytes)));
  }
  const text = (value: string) => `${value.length}:${value}`;
  const list = files.map(({ name, content, isPadding = false }) => {
    const attributes = isPadding ? '4:attr1:p' : '';
    return `d${attributes}6:lengthi${content.length}e4:pathl${text(name)}ee`;
  });
  const info = `d5:filesl${list.join('')}e4:name${text(folder)}12:piece lengthi${pieceBytes}e6:pieces`;
  const head = bytesOf(`d4:info${info}${pieces.length}:`);
  return withSeeds(Uint8Array.from([...head, ...pieces, ...bytesOf('ee')]), seeds);
}
