/** Decides what a release uploads, and where. Pure: the files and the environment are arguments. */

/** A step of a release at one place. */
export interface Step {
  /** The place and what happens there, for people. */
  readonly what: string;
  /** Programs with their arguments, in order. */
  readonly commands: readonly (readonly string[])[];
  /** Environment variables that hold the accounts. */
  readonly needs: readonly string[];
}

/** Folder of the release, as commands name it. */
const FOLDER = 'dist/release';

/** Places of one kind of file each. Registries that take nothing back come last. */
const PLACES = [
  {
    what: 'upload to the Chrome Web Store',
    takes: /^millrace-chromium-.*\.zip$/,
    command: ['npx', '--yes', 'chrome-webstore-upload-cli@4.0.2', '--source', 'FILE'],
    needs: ['EXTENSION_ID', 'CLIENT_ID', 'CLIENT_SECRET', 'REFRESH_TOKEN'],
  },
  {
    what: 'upload to addons.mozilla.org',
    takes: /^millrace-firefox-.*\.zip$/,
    // The tool packs the folder itself, which the zip was made of.
    command: [
      ...['npx', '--yes', 'web-ext@10.7.0', 'sign', '--channel', 'listed'],
      ...['--source-dir', 'dist/extension/firefox'],
    ],
    needs: ['WEB_EXT_API_KEY', 'WEB_EXT_API_SECRET'],
  },
  {
    what: 'publish in the npm registry',
    takes: /^millrace-[\d.]+\S*\.tgz$/,
    command: ['npm', 'publish', '--provenance', '--access', 'public', 'FILE'],
    needs: ['NODE_AUTH_TOKEN'],
  },
];

/**
 * Returns the steps of a release, in order. The GitHub release is the feed of updates too, where the
 * app reads latest*.yml, so it becomes public last, when all its files are there.
 *
 * @param files names of all files of the release
 */
export function stepsOf(version: string, files: readonly string[]): Step[] {
  const tag = `v${version}`;
  const all = files.map((file) => `${FOLDER}/${file}`);
  const draft = ['--draft', '--verify-tag', '--title', `Millrace ${version}`];
  const kind = version.includes('-') ? '--prerelease' : '--latest';
  return [
    {
      what: `upload to the GitHub release ${tag}, which nobody sees yet`,
      commands: [
        ['gh', 'release', 'create', tag, ...draft, '--notes-file', `${FOLDER}/NOTES.md`, ...all],
      ],
      needs: ['GH_TOKEN'],
    },
    ...PLACES.flatMap(({ takes, command, ...place }) => {
      const taken = all.filter((path) => takes.test(path.slice(FOLDER.length + 1)));
      const commands = taken.map((path) => command.map((word) => (word === 'FILE' ? path : word)));
      return commands.length === 0 ? [] : [{ ...place, commands }];
    }),
    {
      what: `make the GitHub release ${tag} public, and with it the update feed`,
      commands: [['gh', 'release', 'edit', tag, '--draft=false', kind]],
      needs: ['GH_TOKEN'],
    },
  ];
}

/** Kinds of files that a complete release has, by the pattern of their names. */
const EXPECTED: Readonly<Record<string, RegExp>> = {
  'npm package': /^millrace-[\d.]+\S*\.tgz$/,
  'deb for amd64': /_amd64\.deb$/,
  'deb for arm64': /_arm64\.deb$/,
  'rpm for x86_64': /^millrace-[\d.]+\S*\.x86_64\.rpm$/,
  'rpm for aarch64': /^millrace-[\d.]+\S*\.aarch64\.rpm$/,
  'executable for Linux': /-linux-x64$/,
  'executable for macOS': /-macos-arm64$/,
  'executable for Windows': /-windows-x64\.exe$/,
  'extension for Chromium-based browsers': /^millrace-chromium-.*\.zip$/,
  'extension for Firefox': /^millrace-firefox-.*\.zip$/,
  AppImage: /\.AppImage$/,
  'installer for Windows': /-win-.*\.exe$/,
  'disk image for macOS': /\.dmg$/,
  'update feed for Linux': /^latest-linux\.yml$/,
  'update feed for Windows': /^latest\.yml$/,
  'update feed for macOS': /^latest-mac\.yml$/,
};

/** Returns what a complete release has and this one has not. */
export function missingFrom(files: readonly string[]): string[] {
  return Object.entries(EXPECTED)
    .filter(([, pattern]) => !files.some((file) => pattern.test(file)))
    .map(([kind]) => kind);
}

/** Returns the variables of a step that are not set. */
export function missingAccounts({ needs }: Step, env: NodeJS.ProcessEnv): string[] {
  return needs.filter((name) => !env[name]);
}

/** Returns the text of SHA256SUMS, as `sha256sum --check` reads it. */
export function checksumLines(digests: ReadonlyMap<string, string>): string {
  const names = [...digests.keys()].toSorted();
  return names.map((name) => `${digests.get(name)}  ${name}\n`).join('');
}
