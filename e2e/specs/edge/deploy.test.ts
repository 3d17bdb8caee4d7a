/**
 * The files with which operators run edges, read by the tools that will use them: linted, rendered,
 * checked against schemas, and carried out as far as possible without a container engine.
 */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { notTested, programOrComplain } from '../../fixtures/not-tested.ts';
import { temporaryFolder } from '../../fixtures/programs/processes.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { type DeployTool, deployTool } from '../../fixtures/tools/deploy-tools.mjs';
import {
  copyInto,
  DEPLOY,
  type Instruction,
  ROOT,
  readStages,
} from '../../fixtures/tools/repository.ts';
import { until } from '../../fixtures/until.ts';

/** Time to get a tool, in ms: a machine that has no Helm engine yet compiles it meanwhile. */
const FETCH_MS = 900_000;
const CHART = join(DEPLOY, 'helm/millrace-edge');
const KUBERNETES = '1.34.0';
const NOBODY = 65_534;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => folder.remove());

/** Returns the path of a tool, or says loudly what is not tested without it. */
async function toolOrComplain(tool: DeployTool): Promise<string | undefined> {
  await until(() => deployTool(tool) !== undefined, FETCH_MS);
  const found = deployTool(tool);
  if (found !== undefined && 'path' in found) return found.path;
  const reason = found?.reason.split('\n').at(-1);
  notTested(`There is no ${tool} (${reason})`, 'what it checks in edge/deploy');
  return undefined;
}

/** Adds a test that needs a tool, and does nothing where the tool cannot be had. */
function withTool(tool: DeployTool, name: string, body: (path: string) => Promise<void>): void {
  const run = async () => {
    const path = await toolOrComplain(tool);
    if (path !== undefined) await body(path);
  };
  test(name, run, FETCH_MS);
}

/** Runs a program to its end. @returns status and all that it has printed */
async function run(command: string, args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(command, args, { env: { ...process.env, ...env }, cwd: DEPLOY });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data) => {
      output += data;
    });
  }
  const [status] = await once(child, 'close');
  return { status: status as number, output };
}

/** Lists the options that the edge's help names. */
async function knownOptions(): Promise<Set<string>> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    join(ROOT, 'edge/src/main.ts'),
    '--help',
  ]);
  return new Set([...stdout.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(([, name = '']) => name));
}

describe('Dockerfile', () => {
  withTool('hadolint', 'has nothing that hadolint finds', async (hadolint) => {
    const { status, output } = await run(hadolint, ['Dockerfile']);
    expect([status, output]).toEqual([0, '']);
  });

  test('its steps make an edge that runs as nobody, on files that it cannot change', async () => {
    const [build = [], final = []] = await readStages(join(DEPLOY, 'Dockerfile'));
    const image = await mkdtemp(join(tmpdir(), 'millrace-image-'));
    const origin = await FaultOrigin.start();
    try {
      await carryOut(build, image);
      await chmod(image, 0o755);
      const entry = commandOf(final, 'ENTRYPOINT');
      const check = /^.*?CMD (\[.*\])$/.exec(commandText(final, 'HEALTHCHECK'))?.[1] ?? '[]';
      const edge = startAsNobody(image, entry, environmentOf(final));
      // An edge that prints no line has ended, and has said why on standard error.
      const lines = createInterface({ input: edge.stdout });
      const line = String((await Promise.race([once(lines, 'line'), once(lines, 'close')]))[0]);
      const port = /:(\d+)$/.exec(line)?.[1] ?? '';
      expect(port).not.toBe('');
      const url = origin.url('none', { seed: 'image', size: 3_000_000 });
      const { digest, headers } = await fetchAll(`http://127.0.0.1:${port}/${url}`);
      expect(digest).toBe(origin.digest(url));
      expect(headers.via).toMatch(/^1\.1 /);
      const page = await (await fetch(`http://127.0.0.1:${port}/`)).text();
      const [style = ''] = /\/-\/assets\/[^"]+\.css/.exec(page) ?? [];
      expect((await fetch(`http://127.0.0.1:${port}${style}`)).status).toBe(200);
      const healthy = (at: string) =>
        spawnAsNobody(image, JSON.parse(check), {
          ...environmentOf(final),
          MILLRACE_EDGE_PORT: at,
        });
      expect(await exitOf(healthy(port))).toBe(0);
      expect(await exitOf(healthy('1'))).toBe(1);
      edge.kill('SIGTERM');
      expect(await exitOf(edge)).toBe(0);
      // The image has no tests, and nothing that only other parts of the project need.
      const size = await run('du', ['-sm', join(image, 'app')]);
      expect(Number.parseInt(size.output, 10)).toBeLessThan(60);
    } finally {
      await origin.stop();
      await rm(image, { recursive: true, force: true });
    }
  });

  test('the paths that it copies exist, and .dockerignore lets them through', async () => {
    const [build = []] = await readStages(join(DEPLOY, 'Dockerfile'));
    const ignore = await readFile(join(DEPLOY, 'Dockerfile.dockerignore'), 'utf8');
    const let_through = ignore.split('\n').flatMap((line) => /^!(.+)/.exec(line)?.[1] ?? []);
    const kept_out = ignore.split('\n').filter((line) => /^[a-z]/.test(line));
    for (const { name, words } of build) {
      if (name !== 'COPY') continue;
      for (const path of words.split(' ').slice(0, -1)) {
        await stat(join(ROOT, path));
        expect(let_through.some((top) => `${path}/`.startsWith(`${top}/`))).toBe(true);
        expect(kept_out.some((out) => `${path}/`.startsWith(`${out}/`))).toBe(false);
      }
    }
  });
});

/** Carries out the instructions of a stage in a folder that stands for the root. */
async function carryOut(stage: readonly Instruction[], image: string): Promise<void> {
  let at = image;
  for (const { name, words } of stage) {
    if (name === 'WORKDIR') {
      at = join(image, words);
      await mkdir(at, { recursive: true });
    } else if (name === 'COPY') await copyInto(at, words);
    else if (name === 'RUN') {
      const command = words.replaceAll(/(?<=\s)\/(?=\w)/g, `${image}/`);
      await promisify(execFile)('sh', ['-c', command], { cwd: at });
    } else expect(['FROM', 'ENV']).toContain(name);
  }
}

function commandText(stage: readonly Instruction[], name: string): string {
  return stage.find((instruction) => instruction.name === name)?.words ?? '';
}

function commandOf(stage: readonly Instruction[], name: string): string[] {
  return JSON.parse(commandText(stage, name)) as string[];
}

function environmentOf(stage: readonly Instruction[]): Record<string, string> {
  const pairs = [...commandText(stage, 'ENV').matchAll(/(\w+)=(\S+)/g)];
  const env = Object.fromEntries(pairs.map(([, name = '', value = '']) => [name, value]));
  // Other programs listen on this machine: take a free port, on loopback only.
  return { ...env, MILLRACE_EDGE_PORT: '0', MILLRACE_EDGE_HOST: '127.0.0.1' };
}

function startAsNobody(image: string, entry: readonly string[], env: Record<string, string>) {
  return spawnAsNobody(image, entry, {
    ...env,
    MILLRACE_EDGE_ALLOW_ORIGIN: '127.0.0.1',
    MILLRACE_EDGE_LOG_LEVEL: 'error',
  });
}

/** Spawns Node as the image's user, who can write nowhere, if the test may change its user. */
function spawnAsNobody(image: string, [, ...args]: readonly string[], env: Record<string, string>) {
  const becomes = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  return spawn(process.execPath, args, {
    cwd: join(image, 'app'),
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
    ...becomes,
  });
}

async function exitOf(child: ReturnType<typeof spawnAsNobody>): Promise<number | null> {
  if (child.exitCode === null) await once(child, 'exit');
  return child.exitCode;
}

describe('compose file', () => {
  const env = { MILLRACE_ALLOW_ORIGIN: 'downloads.example.com', MILLRACE_SECRET: 'x'.repeat(20) };

  withTool(
    'docker-compose',
    'is read by Docker Compose; what it mounts is there',
    async (compose) => {
      const file = join(DEPLOY, 'compose/compose.yaml');
      const { status, output } = await run(
        compose,
        ['-f', file, 'config', '--format', 'json'],
        env,
      );
      expect([status, status === 0 ? '' : output]).toEqual([0, '']);
      const { services } = JSON.parse(output) as {
        services: Record<
          string,
          { read_only?: boolean; volumes?: { type: string; source: string }[] }
        >;
      };
      expect(Object.keys(services).sort()).toEqual([
        ...['edge-1', 'edge-2', 'edge-3', 'edge-4', 'grafana', 'prometheus'],
      ]);
      for (const [name, service] of Object.entries(services)) {
        if (name.startsWith('edge-')) expect(service.read_only).toBe(true);
        for (const { type, source } of service.volumes ?? []) {
          // Another part of the repository makes the dashboards.
          if (type === 'bind') await stat(source.replace(/\/dashboards$/, ''));
        }
      }
      const without = await run(compose, ['-f', file, 'config', '-q'], { MILLRACE_SECRET: 'x' });
      expect(without.output).toMatch(/MILLRACE_ALLOW_ORIGIN/);
    },
  );
});

describe('Prometheus', () => {
  withTool(
    'promtool',
    'configuration and alerts are right, and alerts come when they should',
    async (promtool) => {
      const config = await run(promtool, ['check', 'config', 'prometheus/prometheus.yml']);
      expect([config.status, config.status === 0 ? '' : config.output]).toEqual([0, '']);
      const rules = await run(promtool, ['test', 'rules', 'prometheus/alerts.test.yml']);
      expect([rules.status, rules.status === 0 ? '' : rules.output]).toEqual([0, '']);
    },
  );

  test('alerts use metrics that an edge has', async () => {
    const rules = await readFile(join(DEPLOY, 'prometheus/alerts.yml'), 'utf8');
    const asked = new Set(rules.match(/\bmillrace_[a-z_]+\b/g));
    const names = await readdir(join(ROOT, 'edge/src'), { recursive: true });
    const sources = names.filter((name) => /(?<!\.test)\.ts$/.test(name));
    const code = await Promise.all(
      sources.map((name) => readFile(join(ROOT, 'edge/src', name), 'utf8')),
    );
    for (const name of asked) {
      // The metrics of the process come from the library.
      if (/^millrace_process_/.test(name)) continue;
      expect([name, code.join().includes(`'${name.slice('millrace_'.length)}'`)]).toEqual([
        name,
        true,
      ]);
    }
    expect(asked.size).toBeGreaterThan(5);
  });
});

/** Sets of values that together use all of the chart. */
const VALUES: Readonly<Record<string, object>> = {
  plain: { allowOrigins: ['downloads.example.com', '*.example.org'] },
  everything: {
    allowOrigins: ['*'],
    replicas: 5,
    networkSecret: { existing: 'network' },
    adminToken: { existing: 'admin' },
    tls: { secret: 'certificate', plain: 'redirect' },
    publicUrl: 'https://$(POD_NAME).edges.example.net',
    service: { type: 'LoadBalancer', annotations: { a: 'b' } },
    serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
    prometheusRule: { enabled: true, labels: { release: 'prometheus' } },
    persistence: { storageClass: 'fast' },
    tolerations: [{ key: 'edge', operator: 'Exists' }],
    nodeSelector: { disk: 'nvme' },
    settings: { 'client-rate': '20MiB/s', workers: 4 },
  },
  'memory only': { allowOrigins: ['*'], persistence: { enabled: false }, spread: false },
};

describe('Helm chart', () => {
  async function render(helm: string, values: object) {
    const child = spawn(helm, [CHART, 'release'], { stdio: ['pipe', 'pipe', 'pipe'] });
    child.stdin.end(JSON.stringify(values));
    let [output, errors] = ['', ''];
    child.stdout.on('data', (data) => {
      output += data;
    });
    child.stderr.on('data', (data) => {
      errors += data;
    });
    const [status] = await once(child, 'close');
    return { status: status as number, output, errors };
  }

  withTool(
    'helm-template',
    'renders to what Kubernetes knows, with options that the edge knows',
    async (helm) => {
      const options = await knownOptions();
      expect(options.size).toBeGreaterThan(20);
      const validator = await toolOrComplain('kubernetes-validate');
      for (const [name, values] of Object.entries(VALUES)) {
        const { status, output, errors } = await render(helm, values);
        expect([name, status, errors]).toEqual([name, 0, '']);
        const used = [...output.matchAll(/^ +- (--[a-z-]+)=/gm)].map(([, option = '']) => option);
        expect(used.length).toBeGreaterThan(5);
        expect(used.filter((option) => !options.has(option))).toEqual([]);
        if (validator === undefined) continue;
        // These kinds belong to the Prometheus operator, not to Kubernetes itself.
        const own = output
          .split(/^---$/m)
          .filter((document) => !/kind: (ServiceMonitor|PrometheusRule)/.test(document));
        const file = join(folder.path, 'rendered.yaml');
        await writeFile(file, own.join('---'));
        const checked = await run(validator, ['-k', KUBERNETES, '--strict', file]);
        expect([name, checked.status, checked.status === 0 ? '' : checked.output]).toEqual([
          name,
          0,
          '',
        ]);
      }
    },
  );

  withTool('helm-template', 'has alerts that Prometheus understands', async (helm) => {
    const { output } = await render(helm, VALUES.everything as object);
    const rule = output.split(/^---$/m).find((document) => /kind: PrometheusRule/.test(document));
    const [head, spec = ''] = rule?.split('\nspec:\n') ?? [];
    expect(head).toMatch(/name: release\n(?:.*\n)*? {4}release: prometheus$/);
    const promtool = await toolOrComplain('promtool');
    if (promtool === undefined) return;
    const file = join(folder.path, 'rules.yml');
    await writeFile(file, spec.replaceAll(/^ {2}/gm, ''));
    expect((await readFile(file, 'utf8')).trim()).toBe(
      (await readFile(join(DEPLOY, 'prometheus/alerts.yml'), 'utf8')).trim(),
    );
    const checked = await run(promtool, ['check', 'rules', file]);
    expect([checked.status, checked.status === 0 ? '' : checked.output]).toEqual([0, '']);
  });

  withTool(
    'helm-template',
    'a pod that ends has time for its pause and its transfers',
    async (helm) => {
      const values = { allowOrigins: ['*'], graceSeconds: 300, pauseSeconds: 20 };
      const { output } = await render(helm, values);
      const period = Number(/terminationGracePeriodSeconds: (\d+)/.exec(output)?.[1]);
      expect(period).toBeGreaterThan(300 + 20);
      expect(output).toMatch(/--grace=300s/);
      expect(output).toMatch(/path: \/-\/ready/);
    },
  );

  withTool(
    'helm-template',
    'refuses values that it does not know, and those that make no sense',
    async (helm) => {
      const wrong: [object, RegExp][] = [
        [{}, /allowOrigins/],
        [{ allowOrigins: [] }, /allowOrigins/],
        [{ allowOrigins: ['*'], replica: 3 }, /replica/],
        [{ allowOrigins: ['*'], replicas: 0 }, /replicas/],
        [{ allowOrigins: ['*'], persistence: { size: 'large' } }, /size/],
        [{ allowOrigins: ['*'], publicUrl: 'edge.example' }, /publicUrl/],
        [{ allowOrigins: ['*'], tls: { secret: 'a', plain: 'redirect' } }, /publicUrl/],
      ];
      for (const [values, message] of wrong) {
        const { status, errors } = await render(helm, values);
        expect([values, status]).toEqual([values, 1]);
        expect(errors).toMatch(message);
      }
    },
  );
});

const withSystemd = testsWhere(programOrComplain('systemd-analyze', 'the systemd unit'));

describe('systemd unit', () => {
  withSystemd.test('is one for systemd, and confined', async () => {
    // The path of Node differs from machine to machine.
    const unit = join(folder.path, 'millrace-edge.service');
    await cp(join(DEPLOY, 'systemd/millrace-edge.service'), unit);
    const text = await readFile(unit, 'utf8');
    await writeFile(unit, text.replace('/usr/bin/node', process.execPath));
    const verified = await run('systemd-analyze', ['verify', unit]);
    expect([verified.status, verified.output]).toEqual([0, '']);
    const args = ['security', '--offline=yes', '--threshold=20', unit];
    const { status, output } = await run('systemd-analyze', args);
    expect([status, status === 0 ? '' : output]).toEqual([0, '']);
  });
});
