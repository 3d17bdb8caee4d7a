/**
 * `npm run bench -- cache-tests FOLDER [--plain] [--json FILE] [--only ID]...`: the public suite of
 * tests for HTTP caches (github.com/http-tests/cache-tests, in FOLDER, after `npm install` there)
 * against an edge and, if it is installed, nginx.
 *
 * With `--plain` the origin is the suite's own: it serves no ranges, and mostly no validators.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Nginx, nginxOrComplain } from '../fixtures/origins/nginx.ts';
import { EdgeProcess, temporaryFolder } from '../fixtures/programs/processes.ts';
import { until } from '../fixtures/until.ts';
import { SuiteOrigin } from './measuring/suite-origin.ts';

const RUN = fileURLToPath(new URL('./measuring/suite-run.ts', import.meta.url));

interface Row {
  readonly suite: string;
  readonly id: string;
  readonly kind: 'required' | 'optimal' | 'check';
  /** Null: not for caches of this kind. */
  readonly result: true | [string, string] | null;
}

/** Columns of the table: the tests that each counts. */
const COLUMNS: Readonly<Record<string, (row: Row) => boolean>> = {
  required: ({ kind }) => kind === 'required',
  optimal: ({ kind }) => kind === 'optimal',
  partial: ({ suite }) => suite === 'partial',
};

/** Runs the suite. @returns the exit status */
export async function cacheTests(args: readonly string[]): Promise<number> {
  const { positionals, values } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      plain: { type: 'boolean', default: false },
      json: { type: 'string' },
      only: { type: 'string', multiple: true, default: [] },
    },
  });
  const [folder] = positionals;
  if (folder === undefined) {
    process.stderr.write('Name the folder with http-tests/cache-tests.\n');
    return 2;
  }
  const { only, plain, json } = values;
  await using running = new AsyncDisposableStack();
  const temporary = await temporaryFolder();
  running.defer(() => temporary.remove());
  const server = await suiteServer(folder, join(temporary.path, 'pid'));
  running.defer(() => void server.child.kill());

  const origin = await SuiteOrigin.start({ server: server.url, files: !plain });
  running.defer(() => origin.stop());
  const rules = join(temporary.path, 'rules.json');
  await writeFile(rules, JSON.stringify({ origins: [{ origin: '127.0.0.1', passAnswers: true }] }));
  const edge = await EdgeProcess.start(['--rules-file', rules, ...UNLIMITED]);
  running.defer(() => edge.stop().then(() => undefined));
  const results = new Map([
    ['edge', await run(folder, origin.before(`${edge.url}/${origin.url}`), only)],
  ]);
  if (nginxOrComplain('no nginx to compare with')) {
    const nginx = await nginxCache(temporary.path, server.url);
    running.defer(() => nginx.stop());
    results.set('nginx', await run(folder, nginx.url, only));
  }
  if (json !== undefined) await writeFile(json, JSON.stringify(Object.fromEntries(results)));
  process.stdout.write(report(results));
  return 0;
}

/** Limits that hundreds of tests of one client at a time would reach. */
const UNLIMITED = ['--client-requests', '0', '--client-transfers', '0'];

/** Starts the suite's own server. */
async function suiteServer(
  folder: string,
  pidFile: string,
): Promise<{ url: string; child: ChildProcess }> {
  const port = await freePort();
  const child = spawn(process.execPath, ['test-engine/server/server.mjs'], {
    cwd: folder,
    env: {
      ...process.env,
      npm_config_protocol: 'http',
      npm_config_port: String(port),
      npm_config_pidfile: pidFile,
    },
    stdio: 'ignore',
  });
  const url = `http://127.0.0.1:${port}`;
  await until(() =>
    fetch(`${url}/state/none`).then(
      () => true,
      () => false,
    ),
  );
  return { url, child };
}

/** nginx with the suite's own configuration of it. */
function nginxCache(dir: string, origin: string): Promise<Nginx> {
  const cache = join(dir, 'cache');
  return Nginx.start({
    dir: join(dir, 'nginx'),
    root: dir,
    http: `proxy_cache_path ${cache} levels=1:2 keys_zone=suite:8m max_size=1000m inactive=600m;`,
    server: [
      `location / { proxy_pass ${origin}; proxy_cache suite;`,
      'proxy_cache_revalidate on; proxy_http_version 1.1; }',
    ].join(' '),
  });
}

async function run(folder: string, base: string, only: readonly string[]): Promise<Row[]> {
  const child = spawn(process.execPath, ['--no-warnings', RUN, folder, base, ...only], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  await once(child, 'close');
  // The results are the last line: the suite prints words of its own before.
  return JSON.parse(text.slice(text.lastIndexOf('\n'))) as Row[];
}

function report(results: ReadonlyMap<string, readonly Row[]>): string {
  const names = Object.keys(COLUMNS);
  const lines = [`| cache | ${names.join(' | ')} |`, `|---|${'---:|'.repeat(names.length)}`];
  for (const [cache, rows] of results) {
    const cells = Object.values(COLUMNS).map((counts) => {
      const counted = rows.filter(counts);
      return `${counted.filter(({ result }) => result === true).length} of ${counted.length}`;
    });
    lines.push(`| ${cache} | ${cells.join(' | ')} |`);
  }
  const failed = (results.get('edge') ?? []).filter(
    ({ kind, result }) => kind !== 'check' && result !== true && result !== null,
  );
  lines.push('', 'Failures of the edge:', '');
  for (const { kind, id, result } of failed)
    lines.push(`${kind} ${id}: ${String(result).split('\n', 1)[0]}`);
  return `${lines.join('\n')}\n`;
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await once(probe.listen(0, '127.0.0.1'), 'listening');
  const { port } = probe.address() as { port: number };
  await once(probe.close(), 'close');
  return port;
}
