/**
 * Sets up the repository and runs a command; every npm script calls it. Needs only the machine's
 * Node (20 or newer) and npm; installs the right pnpm, dependencies and Node itself.
 */

import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runChild } from './children.mjs';
import { PNPM } from './pnpm.mjs';

const NODE_MAJOR = 24;
/** Longest time to fetch Electron, about 120 MB. */
const FETCH_TIMEOUT_MS = 600_000;

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const stampFile = join(root, 'node_modules', '.millrace-setup');

/** Returns a digest of everything that determines the installed dependencies. */
function stamp() {
  const hash = createHash('sha256');
  const inputs = ['pnpm-lock.yaml', 'pnpm-workspace.yaml', 'package.json'];
  for (const name of ['shared', 'edge', 'desktop', 'extension', 'e2e'])
    inputs.push(`${name}/package.json`);
  for (const name of inputs) hash.update(readFileSync(join(root, name)));
  return hash.update(`${PNPM} ${process.platform} ${process.arch}`).digest('hex');
}

function setUp() {
  const current = stamp();
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === current) return;
  console.error(`Setting up: installing dependencies with ${PNPM} (once, until they change) ...`);
  const started = Date.now();
  const result = spawnSync('npx', ['--yes', PNPM, 'install', '--frozen-lockfile'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  if (result.status !== 0) {
    console.error(result.stdout ?? '', result.stderr ?? '');
    console.error('Setting up failed: the lines above say why. Nothing has been started.');
    process.exit(1);
  }
  writeFileSync(stampFile, current);
  console.error(`Setting up: done in ${Math.round((Date.now() - started) / 1000)} s.`);
}

/** Returns the path of Node: the machine's own if it is new enough, otherwise the installed one. */
function nodePath() {
  if (Number(process.versions.node.split('.')[0]) >= NODE_MAJOR) return process.execPath;
  const name = process.platform === 'win32' ? 'node.exe' : 'node';
  return join(root, 'node_modules', 'node', 'bin', name);
}

function environment() {
  const cache = join(root, 'node_modules', '.cache', 'compile');
  mkdirSync(cache, { recursive: true });
  return {
    // Keeps compiled code: programs start faster, without the TypeScript compiler in memory.
    NODE_COMPILE_CACHE: cache,
    ...process.env,
    MILLRACE_NODE: nodePath(),
  };
}

/** Runs Node with these arguments; resolves with its exit status. */
function runNode(args, options = {}) {
  return runChild(nodePath(), args, { cwd: root, env: environment(), ...options });
}

const bin = (name) => join(root, 'node_modules', ...name.split('/'));

/** Runs a program of the project in the user's current folder. @param role see `runChild` */
function program(file, args, role = 'tool') {
  const cwd = process.env.INIT_CWD ?? process.cwd();
  // Hints of the command line name it as it is typed here.
  const env = { ...environment(), MILLRACE_TYPED_AS: 'npm run millrace --' };
  return runNode([join(root, file), ...args], { cwd, role, env });
}

/** TypeScript projects, slowest first. They run in different places: `lib` and `types` differ. */
const PROJECTS = [
  'desktop',
  'e2e',
  'edge',
  'extension',
  'extension/tsconfig.test.json',
  'desktop/ui',
  'desktop/ui/tsconfig.test.json',
  'shared/tsconfig.test.json',
  'fuzz',
  'scripts',
  'edge/browser',
  'edge/browser/tsconfig.test.json',
  'shared/node',
  'shared/ui',
  'shared',
];

/**
 * Most projects checked at once. Several threads for one project would each compute the same types.
 */
const CHECKS_AT_A_TIME = Math.min(4, availableParallelism());

async function typecheck() {
  const waiting = [...PROJECTS];
  let status = 0;
  const check = async () => {
    for (let project = waiting.shift(); project !== undefined; project = waiting.shift()) {
      const args = [bin('typescript/bin/tsc'), '--checkers', '1', '-p', join(root, project)];
      status = (await runNode(args)) || status;
      if (status !== 0) return;
    }
  };
  await Promise.all(Array.from({ length: CHECKS_AT_A_TIME }, check));
  return status;
}

/** Builds the interface if it has changed. */
const buildUi = () => runNode([join(root, 'scripts/build-ui.mjs')]);

/** Builds the interface, then runs a command that serves it. */
const withUi = async (run) => (await buildUi()) || run();

/** Starts the app, after building its page and window; with arguments, only runs their command. */
async function start(args) {
  const run = () => program('desktop/cli/launch/start.ts', args, 'program');
  if (args.length > 0) return run();
  if (hasScreen()) {
    await runNode([join(root, 'scripts/build-shell.mjs'), '--quiet']);
    fetchElectron();
  }
  return withUi(run);
}

function hasScreen() {
  if (process.platform !== 'linux') return true;
  return Boolean(process.env.DISPLAY || process.env.WAYLAND_DISPLAY);
}

/** Fetches Electron, which its package does not contain. Without it, the app is a page. */
function fetchElectron() {
  if (process.env.ELECTRON_OVERRIDE_DIST_PATH || process.env.ELECTRON_SKIP_BINARY_DOWNLOAD) return;
  const folder = join(root, 'desktop', 'node_modules', 'electron');
  if (existsSync(join(folder, 'path.txt'))) return;
  console.error('Fetching Electron (once) ...');
  const options = { stdio: 'ignore', timeout: FETCH_TIMEOUT_MS };
  const { status } = spawnSync(nodePath(), [join(folder, 'install.js')], options);
  if (status !== 0)
    console.error('Fetching Electron failed: the app will be a page in your browser.');
}

/** Has experiments run bundled programs, as people get them: sources take longer to start. */
async function withBundles(run) {
  const { bundlePrograms } = await import('../e2e/fixtures/programs/bundles.mjs');
  process.env.MILLRACE_TEST_BUNDLES ??= await bundlePrograms();
  return run();
}

/** Runs a benchmark. A soak starts programs again and again. */
function bench(args) {
  const run = () => runNode([join(root, 'e2e/bench/main.ts'), ...args]);
  return withUi(() => (args[0] === 'soak' ? withBundles(run) : run()));
}

const biome = (...args) => runNode([bin('@biomejs/biome/bin/biome'), ...args, '.']);

/** Linters: style, imports between folders, dead code, copies. */
const LINTERS = [
  () => biome('ci'),
  () => quietly(['dependency-cruiser/bin/dependency-cruiser.mjs', '-T', 'err-long', ...HOUSE]),
  () => quietly(['knip/bin/knip.js', '--no-progress', '--no-config-hints']),
  () => quietly(['jscpd/run-jscpd.js', ...HOUSE]),
];
const HOUSE = ['shared', 'edge/src', 'desktop', 'extension/src'];

/** Runs a linter of a dependency, and shows its output only if it fails. */
function quietly([program, ...args]) {
  const child = spawn(nodePath(), [bin(program), ...args], { cwd: root });
  const output = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => output.push(data));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => {
      if (status !== 0) console.error(`${program.split('/')[0]}:\n${Buffer.concat(output)}`);
      resolve(status ?? 1);
    });
  });
}

/** Runs all linters, so that one run reports everything. @returns a status other than 0, if any */
async function lint() {
  const statuses = await Promise.all(LINTERS.map((linter) => linter()));
  return statuses.find((status) => status !== 0) ?? 0;
}

/** End-to-end specs at once: at least five, since most processes of a spec wait. */
const SPECS_AT_A_TIME = Math.max(5, Math.floor(availableParallelism() / 2));
const TESTS_AT_A_TIME = Math.max(2, availableParallelism());

/** Environment variable that marks all processes of a test run. */
const RUN_MARK = ['MILLRACE_TEST_RUN', `${process.pid}-${Date.now()}`];

/** @param enter words before the command, that say where it runs */
async function jest(project, workers, args, enter = []) {
  const guard = guardRun();
  const flags = [
    ...['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'],
    // MiB for young objects, twice Node's own limit: tests make much garbage. Workers get it too.
    '--max-semi-space-size=32',
  ];
  // Without a test of that name, Jest runs no hook that ends what a spec has started, and waits.
  const isByName = args.some((arg) => /^(?:-t|--testNamePattern)\b/.test(arg));
  const options = [`--maxWorkers=${workers}`, ...(isByName ? ['--forceExit'] : []), ...args];
  // Must come last: Jest would take any words that follow for more projects.
  const last = ['--selectProjects', project];
  const node = [nodePath(), ...flags, bin('jest/bin/jest.js'), ...options, ...last];
  const [command, ...words] = [...enter, ...node];
  const status = await runChild(command, words, { cwd: root, env: runEnvironment() });
  await guard.end();
  return status;
}

const runEnvironment = () => ({ ...environment(), [RUN_MARK[0]]: RUN_MARK[1] });

/** Runs end-to-end tests in a network of their own. */
async function endToEnd(args) {
  await runNode([join(root, 'e2e/fixtures/tools/install.mjs')], { env: runEnvironment() });
  const { openNetwork } = await import('../e2e/fixtures/own-network.mjs');
  const network = openNetwork();
  const status = await jest('e2e', SPECS_AT_A_TIME, args, network?.enter);
  network?.close();
  return status;
}

/** Starts end-left.mjs, which ends processes that the run leaves behind however this one ends. */
function guardRun() {
  if (process.platform !== 'linux') return { end: async () => {} };
  const guard = spawn(nodePath(), [join(root, 'scripts/end-left.mjs'), RUN_MARK.join('=')], {
    // Runs in a session of its own: keys that end the run must not end the guard.
    detached: true,
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  const ended = new Promise((resolve) => guard.once('exit', resolve).once('error', resolve));
  return {
    end() {
      guard.stdin.end();
      return ended;
    },
  };
}

async function test() {
  const steps = [
    ['types', typecheck],
    ['lint', lint],
    ['unit tests', () => jest('unit', TESTS_AT_A_TIME, [])],
    ['end-to-end tests', () => withUi(() => endToEnd([]))],
  ];
  for (const [name, step] of steps) {
    const started = Date.now();
    console.error(`\n== ${name}`);
    const status = await step();
    if (status !== 0) {
      console.error(`\n== ${name}: failed`);
      return status;
    }
    console.error(`== ${name}: fine, ${Math.round((Date.now() - started) / 1000)} s`);
  }
  return 0;
}

const COMMANDS = {
  start,
  'build:extension': (args) => runNode([join(root, 'scripts/build-extension.mjs'), ...args]),
  package: (args) => runNode([join(root, 'scripts/package.mjs'), ...args]),
  release: (args) => runNode([join(root, 'scripts/release.ts'), ...args]),
  edge: (args) => program('edge/src/main.ts', args, 'reloading program'),
  millrace: (args) => program('desktop/cli/main.ts', args, 'program'),
  bench,
  lab: (args) => withBundles(() => program('e2e/lab/main.ts', args)),
  sim: (args) => program('e2e/sim/main.ts', args),
  test,
  typecheck,
  lint,
  format: () => biome('check', '--write'),
  docs: () => runNode([join(root, 'scripts/docs.ts')]),
  unit: (args) => jest('unit', TESTS_AT_A_TIME, args),
  e2e: (args) => withUi(() => endToEnd(args)),
};

const [name = '', ...args] = process.argv.slice(2);
const command = COMMANDS[name];
if (command === undefined) {
  console.error(`Unknown command "${name}". Known: ${Object.keys(COMMANDS).join(', ')}`);
  process.exit(2);
}
setUp();
process.exitCode = await command(args);
