/**
 * The files with which operators run edges, read by the tools that will use them: linted, checked,
 * and carried out as far as possible without a container engine.
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
import { programOrComplain } from '../../fixtures/not-tested.ts';
import { EdgeProcess, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import {
  copyInto,
  DEPLOY,
  type Instruction,
  ROOT,
  readStages,
} from '../../fixtures/tools/repository.ts';
import { run, withTool } from '../../fixtures/tools/with-tool.ts';

const NOBODY = 65_534;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => folder.remove());

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
  const secret = 'x'.repeat(20);
  const env = {
    MILLRACE_ALLOW_ORIGIN: 'downloads.example.com',
    MILLRACE_SECRET: secret,
    MILLRACE_TOKEN: secret,
  };

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
      const without = await run(compose, ['-f', file, 'config', '-q'], {
        MILLRACE_SECRET: 'x',
        MILLRACE_TOKEN: 'x',
      });
      expect(without.output).toMatch(/MILLRACE_ALLOW_ORIGIN/);
      expect(output).not.toMatch(/DNS|udp/);
    },
  );

  withTool(
    'docker-compose',
    'has a zone of the DNS if its second file is named',
    async (compose) => {
      const files = ['-f', 'compose/compose.yaml', '-f', 'compose/zone.yaml'];
      const zone = {
        ...{ ...env, MILLRACE_DNS_ZONE: 'cdn.example.net', MILLRACE_DNS_SERVER: 'ns.example.net' },
        MILLRACE_DNS_LISTEN: '192.0.2.10:53',
      };
      const { status, output } = await run(compose, [...files, 'config', '--format', 'json'], zone);
      expect([status, status === 0 ? '' : output]).toEqual([0, '']);
      const edge = JSON.parse(output).services['edge-1'];
      expect(edge.environment).toMatchObject({
        MILLRACE_EDGE_DNS_ZONE: 'cdn.example.net',
        MILLRACE_EDGE_PEERS: 'edges:3125',
      });
      const port = { host_ip: '192.0.2.10', published: '53', target: 5353 };
      expect(edge.ports).toMatchObject([
        ...[{ target: 3125 }, { ...port, protocol: 'udp' }, { ...port, protocol: 'tcp' }],
      ]);
      const without = await run(compose, [...files, 'config', '-q'], env);
      expect(without.output).toMatch(/MILLRACE_DNS_(ZONE|SERVER)/);
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

  withTool('promtool', 'finds nothing wrong with the metrics of an edge', async (promtool) => {
    const edge = await EdgeProcess.start(['--allow-origin', '127.0.0.1']);
    const file = join(folder.path, 'metrics');
    try {
      const text = await (await fetch(`${edge.url}/-/metrics`)).text();
      expect(text).toMatch(/^process_resident_memory_bytes \d+$/m);
      expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds /m);
      await writeFile(file, text);
    } finally {
      await edge.stop();
    }
    const { output } = await run('sh', ['-c', `'${promtool}' check metrics < '${file}'`]);
    expect(output).toBe('');
  });

  test('alerts use metrics that an edge has', async () => {
    const rules = await readFile(join(DEPLOY, 'prometheus/alerts.yml'), 'utf8');
    const asked = new Set(rules.match(/\bmillrace_[a-z_]+\b/g));
    const names = await readdir(join(ROOT, 'edge/src'), { recursive: true });
    const sources = names.filter((name) => /(?<!\.test)\.ts$/.test(name));
    const code = await Promise.all(
      sources.map((name) => readFile(join(ROOT, 'edge/src', name), 'utf8')),
    );
    for (const name of asked) {
      expect([name, code.join().includes(`'${name.slice('millrace_'.length)}'`)]).toEqual([
        name,
        true,
      ]);
    }
    expect(asked.size).toBeGreaterThan(5);
  });
});

const withSystemd = testsWhere(programOrComplain('systemd-analyze', 'the systemd unit'));

describe('systemd unit', () => {
  withSystemd.test('is one for systemd, and confined', async () => {
    // The path of Node differs from machine to machine.
    const unit = join(folder.path, 'millrace-edge.service');
    await cp(join(DEPLOY, 'systemd/millrace-edge.service'), unit);
    const text = await readFile(unit, 'utf8');
    await writeFile(unit, text.replace('/usr/bin/node', process.execPath));
    // The unit is read together with the files for a network and for administration.
    await cp(join(DEPLOY, 'systemd/millrace-edge.service.d'), `${unit}.d`, { recursive: true });
    const verified = await run('systemd-analyze', ['verify', unit]);
    expect([verified.status, verified.output]).toEqual([0, '']);
    const args = ['security', '--offline=yes', '--threshold=20', unit];
    const { status, output } = await run('systemd-analyze', args);
    expect([status, status === 0 ? '' : output]).toEqual([0, '']);
  });
});
