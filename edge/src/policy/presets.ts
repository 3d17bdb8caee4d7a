/**
 * Presets: well-known public services, each with the hosts that its files come from, redirects
 * included, and rules for them in the form of a rules file. Lifetimes that a service states itself are
 * left to it; the table adds what it leaves out.
 */

/** Entry of a preset, as in the `origins` of a rules file. */
interface PresetOrigin {
  readonly origin: string;
  readonly fresh?: string;
  readonly staleIfError?: string;
  readonly ignoreNoCache?: boolean;
  readonly passAnswers?: boolean;
  readonly refuseContentTypes?: readonly string[];
  readonly immutable?: readonly string[];
  readonly sameForAll?: boolean;
  readonly redirectFields?: readonly string[];
  readonly edgeLinks?: readonly string[];
  readonly accept?: string;
  readonly tokenServer?: string;
}

export interface Preset {
  /** Words for the files of the service, for lists. */
  readonly title: string;
  readonly origins: readonly PresetOrigin[];
}

/** Time for which an index may be old: packages that are uploaded show after it. */
const INDEX = { fresh: '1m', staleIfError: '7d', ignoreNoCache: true } as const;
/** Files that are replaced under their names, if rarely. */
const FILES = { fresh: '10m', staleIfError: '30d', sameForAll: true } as const;

/** Packages of Debian and Ubuntu: files of the pool and those named by digests never change. */
const APT = { fresh: '2m', staleIfError: '7d', immutable: ['/pool/', '/by-hash/'] } as const;

/** Images of containers: blobs are named by their digests, and manifests of a type that clients know. */
const IMAGES = {
  fresh: '1m',
  staleIfError: '30d',
  sameForAll: true,
  passAnswers: true,
  immutable: ['/blobs/'],
  accept: [
    'application/vnd.oci.image.index.v1+json',
    'application/vnd.oci.image.manifest.v1+json',
    'application/vnd.docker.distribution.manifest.list.v2+json',
    'application/vnd.docker.distribution.manifest.v2+json',
    '*/*;q=0.1',
  ].join(', '),
} as const;

export const PRESETS = {
  debian: {
    title: 'packages and images of Debian, security updates included',
    origins: [
      { origin: 'deb.debian.org', ...APT },
      { origin: 'security.debian.org', ...APT },
      { origin: 'ftp.debian.org', ...APT },
      { origin: 'archive.debian.org', ...APT },
      // A snapshot is of one moment, and so are all of its paths.
      { origin: 'snapshot.debian.org', ...APT, immutable: ['/archive/', '/file/'] },
      { origin: 'cdimage.debian.org', ...FILES },
    ],
  },
  ubuntu: {
    title: 'packages and images of Ubuntu, security updates and ports included',
    origins: [
      { origin: 'archive.ubuntu.com', ...APT },
      { origin: '*.archive.ubuntu.com', ...APT },
      { origin: 'security.ubuntu.com', ...APT },
      { origin: 'ports.ubuntu.com', ...APT },
      { origin: 'old-releases.ubuntu.com', ...APT },
      { origin: 'releases.ubuntu.com', ...FILES },
      { origin: 'cdimage.ubuntu.com', ...FILES },
      { origin: 'cloud-images.ubuntu.com', ...FILES },
    ],
  },
  pypi: {
    title: 'Python packages of PyPI',
    origins: [
      { origin: 'pypi.org/simple', ...INDEX, edgeLinks: ['files.pythonhosted.org'] },
      {
        origin: 'files.pythonhosted.org',
        immutable: ['/packages/'],
        staleIfError: '30d',
        sameForAll: true,
      },
    ],
  },
  npm: {
    title: 'JavaScript packages of the npm registry',
    origins: [
      {
        origin: 'registry.npmjs.org',
        fresh: '1m',
        staleIfError: '7d',
        immutable: ['.tgz'],
        sameForAll: true,
        edgeLinks: ['registry.npmjs.org'],
      },
    ],
  },
  crates: {
    title: 'Rust packages of crates.io, with the sparse index',
    origins: [
      { origin: 'index.crates.io', fresh: '1m', staleIfError: '7d', sameForAll: true },
      { origin: 'index.crates.io/config.json', ...INDEX, edgeLinks: ['static.crates.io'] },
      {
        origin: 'static.crates.io/crates',
        immutable: ['/crates/'],
        staleIfError: '30d',
        sameForAll: true,
      },
    ],
  },
  github: {
    title: 'releases, archives and raw files of GitHub',
    origins: [
      // Pages are not for a cache of files.
      { origin: 'github.com', ...FILES, refuseContentTypes: ['text/html'] },
      { origin: 'codeload.github.com', ...FILES },
      { origin: 'objects.githubusercontent.com', ...FILES },
      { origin: 'release-assets.githubusercontent.com', ...FILES },
      { origin: 'raw.githubusercontent.com', ...FILES },
      { origin: 'media.githubusercontent.com', ...FILES },
    ],
  },
  huggingface: {
    title: 'models and data sets of Hugging Face',
    origins: [
      {
        origin: 'huggingface.co',
        fresh: '1m',
        staleIfError: '30d',
        sameForAll: true,
        passAnswers: true,
        refuseContentTypes: ['text/html'],
        redirectFields: ['x-repo-commit', 'x-linked-etag', 'x-linked-size'],
      },
      // Files of cdn-lfs are named by their digests; those of Xet have signed links.
      { origin: '*.huggingface.co', ...FILES },
      { origin: '*.hf.co', ...FILES },
    ],
  },
  containers: {
    title: 'public images of Docker Hub, GitHub, Quay and Microsoft',
    origins: [
      {
        origin: 'registry-1.docker.io/v2',
        ...IMAGES,
        tokenServer: 'https://auth.docker.io/token',
      },
      { origin: 'production.cloudflare.docker.com', ...FILES },
      {
        origin: 'docker-images-prod.6aa30f8b08e16409b46e0173d6de2f56.r2.cloudflarestorage.com',
        ...FILES,
      },
      { origin: 'ghcr.io/v2', ...IMAGES, tokenServer: 'https://ghcr.io/token' },
      { origin: 'pkg-containers.githubusercontent.com', ...FILES },
      { origin: 'quay.io/v2', ...IMAGES, tokenServer: 'https://quay.io/v2/auth' },
      { origin: '*.quay.io', ...FILES },
      { origin: 'mcr.microsoft.com/v2', ...IMAGES },
      { origin: '*.data.mcr.microsoft.com', ...FILES },
    ],
  },
  conda: {
    title: 'packages of conda-forge and Anaconda',
    origins: [
      {
        origin: 'conda.anaconda.org',
        ...FILES,
        fresh: '2m',
        immutable: ['.conda', '.tar.bz2'],
      },
      { origin: 'repo.anaconda.com', ...FILES, fresh: '2m', immutable: ['.conda', '.tar.bz2'] },
      { origin: 'binstar-cio-packages-prod.s3.amazonaws.com', ...FILES },
    ],
  },
  maven: {
    title: 'Java packages of Maven Central',
    origins: ['repo1.maven.org/maven2', 'repo.maven.apache.org/maven2'].map((origin) => ({
      origin,
      fresh: '10m',
      staleIfError: '30d',
      sameForAll: true,
      immutable: ['.jar', '.pom', '.aar', '.war', '.module', '.zip', '.tar.gz'],
    })),
  },
  go: {
    title: 'Go modules of proxy.golang.org, and their checksums',
    origins: [
      {
        origin: 'proxy.golang.org',
        fresh: '1m',
        staleIfError: '30d',
        sameForAll: true,
        passAnswers: true,
        immutable: ['.zip', '.mod'],
      },
      // Go's own proxies serve the checksum database below this path as well.
      { origin: 'sum.golang.org', fresh: '1m', staleIfError: '7d', passAnswers: true },
    ],
  },
} as const satisfies Record<string, Preset>;

export type PresetName = keyof typeof PRESETS;

export const PRESET_NAMES = Object.keys(PRESETS) as readonly PresetName[];

/** Returns the text of a rules file with the entries of some presets. */
export function presetRules(names: readonly PresetName[]): string {
  const origins = names.flatMap((name) => PRESETS[name].origins as readonly object[]);
  return JSON.stringify({ origins });
}
