/**
 * Signers: publishers of files whose keys are known in advance. A key counts only for the signer
 * that it is pinned to; no key is ever trusted because a server names it.
 */

export interface Signer {
  /** Stable id, which names its keys. */
  readonly id: string;
  /** Name for people. */
  readonly name: string;
  /** Hosts of its files, each with all hosts below it. */
  readonly hosts: readonly string[];
  /** Folders by which its files are known at mirrors: parts of the URL's path, such as `/x/`. */
  readonly folders: readonly string[];
  /** Names of its signed lists of digests, strongest first. */
  readonly lists: readonly string[];
  /** Ends of the names of its signatures, after the name of what is signed. */
  readonly suffixes: readonly string[];
  /** Fingerprints of its primary keys, upper-case hexadecimal. */
  readonly fingerprints: readonly string[];
  /** Where its keys were taken from. */
  readonly source: string;
}

/** Signers whose keys come with Millrace. */
export const SIGNERS: readonly Signer[] = [
  {
    id: 'debian',
    name: 'Debian',
    hosts: ['cdimage.debian.org', 'cloud.debian.org', 'cdimage-search.debian.org'],
    folders: ['/debian-cd/', '/cdimage/'],
    lists: ['SHA512SUMS', 'SHA256SUMS'],
    suffixes: ['.sign'],
    fingerprints: [
      'DF9B9C49EAA9298432589D76DA87E80D6294BE9B',
      '10460DAD76165AD81FBC0CE9988021A964E6EA7D',
      'F41D30342F3546695F65C66942468F4009EA8AC3',
    ],
    source: 'debian-role-keys.gpg of the Debian package debian-keyring 2022.12.24',
  },
  {
    id: 'arch',
    name: 'Arch Linux',
    hosts: ['geo.mirror.pkgbuild.com', 'archive.archlinux.org'],
    folders: ['/archlinux/iso/', '/iso/latest/'],
    lists: [],
    suffixes: ['.sig'],
    fingerprints: [
      '3E80CA1A8B89F69CBA57D98A76A5EF9054449A5C',
      '4AA4767BBC9C4B1D18AE28B77F2D434B9741E8AC',
    ],
    source: 'archlinux.gpg of the Debian package archlinux-keyring 0~20231113-1~deb12u1',
  },
];

/**
 * Returns the signer that a URL belongs to, by its host, or by its folder at a mirror; undefined for
 * files of others. Only http: and https: URLs belong to a signer.
 */
export function signerOf(url: string, signers: readonly Signer[] = SIGNERS): Signer | undefined {
  const { protocol, hostname, pathname } = new URL(url);
  if (!/^https?:$/.test(protocol)) return undefined;
  const isBelow = (host: string) => hostname === host || hostname.endsWith(`.${host}`);
  return (
    signers.find(({ hosts }) => hosts.some(isBelow)) ??
    signers.find(({ folders }) => folders.some((folder) => pathname.includes(folder)))
  );
}
