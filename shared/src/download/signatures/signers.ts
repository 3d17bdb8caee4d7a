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
  /** Where a list's name follows from the path of the file: a pattern, and the name, with its groups. */
  readonly namedList?: { readonly path: RegExp; readonly name: string };
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
  {
    id: 'ubuntu',
    name: 'Ubuntu',
    hosts: [
      'releases.ubuntu.com',
      'old-releases.ubuntu.com',
      'cdimage.ubuntu.com',
      'cloud-images.ubuntu.com',
    ],
    folders: ['/ubuntu-releases/', '/ubuntu-cdimage/', '/ubuntu-cloud-images/'],
    lists: ['SHA256SUMS'],
    suffixes: ['.gpg'],
    fingerprints: [
      '843938DF228D22F7B3742BC0D94AA3F0EFE21092',
      'D2EB44626FDDC30B513D5BB71A5D6C4C7DB87C81',
      '4A3CE3CD565D7EB5C810E2B97FF3F408476CF100',
    ],
    source:
      'ubuntu-archive-keyring.gpg and ubuntu-cloudimage-keyring.gpg of the Debian package ubuntu-keyring 2023.11.28.1-0.2',
  },
  {
    id: 'fedora',
    name: 'Fedora',
    hosts: ['download.fedoraproject.org', 'dl.fedoraproject.org', 'archives.fedoraproject.org'],
    folders: ['/fedora/linux/'],
    lists: [],
    // Its lists have their signature around them, and are named after variant, release and machine.
    namedList: {
      path: /\/releases\/\d+\/([A-Z]\w*)\/(\w+)\/(?:iso|images)\/Fedora-[^/]*?-(\d+-\d+(?:\.\d+)+)\.[^/]+$/,
      name: 'Fedora-$1-$3-$2-CHECKSUM',
    },
    suffixes: [],
    // Of the releases 42 to 46, in this order.
    fingerprints: [
      'B0F4950458F69E1150C6C5EDC8AC4916105EF944',
      'C6E7F081CF80E13146676E88829B606631645531',
      '36F612DCF27F7D1A48A835E4DBFCF71C6D9F90A6',
      '4F50A6114CD5C6976A7F1179655A4B02F577861E',
      'D924B10D3E810DABDD8B56B596E7E91491211FCE',
    ],
    source:
      'the Debian package distribution-gpg-keys 1.119+ds-1~deb13u1, compared with its upstream repository of August 2026',
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

/** Returns the names of the signer's lists that may have a file, by its URL. */
export function listsOf({ lists, namedList }: Signer, url: string): readonly string[] {
  const match = namedList?.path.exec(new URL(url).pathname);
  if (namedList === undefined || !match) return lists;
  return [...lists, match[0].replace(namedList.path, namedList.name)];
}
