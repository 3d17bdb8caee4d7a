import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect } from '@jest/globals';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { nginxOrComplain } from '../../fixtures/origins/nginx.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { until } from '../../fixtures/until.ts';
import { Gate } from '../../lab/gate.ts';
import { Lab, labOrComplain } from '../../lab/lab.ts';
import { listens, runCurl, runMillrace, startEdge, startNginx } from '../../lab/programs.ts';
import { anycast, pair } from '../../lab/topologies.ts';

const OWNER = fileURLToPath(new URL('../../fixtures/lab-owner.ts', import.meta.url));
const CROWD = fileURLToPath(new URL('../../fixtures/clients/crowd-client.ts', import.meta.url));
const BYTES = 3_000_001;
const content = contentOf('lab', BYTES);

const { afterAll, beforeAll, describe, test } = testsWhere(
  labOrComplain('the laboratory') && nginxOrComplain('the laboratory'),
);

const isNamespace = (name: string) => existsSync(`/run/netns/${name}`);
const isAlive = (pid: number) => existsSync(`/proc/${pid}`);

interface Made {
  readonly namespaces: readonly string[];
  readonly program: number;
  readonly keeper: number;
  readonly folder: string;
}

/** Starts a laboratory in a process of its own, which can be killed. */
async function owned(): Promise<{ kill(): Promise<void>; made: Made }> {
  const child = spawn(process.execPath, [OWNER], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout });
  const [line] = (await once(lines, 'line')) as [string];
  const kill = async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  return { made: JSON.parse(line) as Made, kill };
}

function nothingIsLeft({ namespaces, program, folder }: Made): boolean {
  return !namespaces.some(isNamespace) && !isAlive(program) && !existsSync(folder);
}

describe('a laboratory', () => {
  let lab: Lab;
  beforeAll(async () => {
    lab = await Lab.open({ seed: 1 });
    await writeFile(join(lab.folder, 'file'), content);
  });
  afterAll(() => lab.close());

  test('carries a whole file over a slow, distant link that loses packets', async () => {
    const { client, server } = pair(lab, {
      client: { downMbit: 40, upMbit: 10, rttMs: 8, loss: 0.005 },
      server: { upMbit: 50, rttMs: 4 },
    });
    const nginx = await startNginx(server, { dir: join(lab.folder, 'nginx'), root: lab.folder });
    const output = join(lab.folder, 'curl');
    const done = await runCurl(client, `${nginx.url}/file`, output);
    expect(done).toMatchObject({ code: 0, stderr: '' });
    expect(sha256(await readFile(output))).toBe(sha256(content));
    // nginx notes an answer after its last byte has gone out.
    let sent = 0;
    await until(async () => {
      sent += (await nginx.sent()).bytes;
      return sent >= BYTES;
    });
    expect(sent).toBe(BYTES);
    expect((await lab.queue(client)).sentBytes).toBeGreaterThan(BYTES);
    await nginx.stop();
  });

  test('many clients reach a server at port 80, which URLs do not name', async () => {
    const { client, server } = pair(lab, { client: {}, server: {} });
    const dir = join(lab.folder, server.name, server.address);
    const nginx = await startNginx(server, { dir, root: lab.folder });
    const args = [CROWD, '3', `${nginx.url}/file`];
    const { stdout, stderr } = await client.run(process.execPath, args);
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual({
      bytes: 3 * BYTES,
      outcomes: { [`200 ${sha256(content)}`]: 3 },
    });
    await nginx.stop();
  });

  test('lets programs that were started one by one begin together', async () => {
    const { client, server } = pair(lab, { client: {}, server: {} });
    const nginx = await startNginx(server, { dir: join(lab.folder, 'origin'), root: lab.folder });
    const edge = await startEdge(client, ['--allow-origin', server.address]);
    const gate = new Gate();
    const outputs = ['by-curl', 'by-millrace'].map((name) => join(lab.folder, name));
    const [one = '', other = ''] = outputs;
    const url = `${nginx.url}/file`;
    const begun = [
      runCurl(client, edge.prefixed(url), one, [], { gate }),
      runMillrace(client, ['get', url, '-o', other, '--quiet'], { gate }),
    ];
    expect((await nginx.sent()).requests).toBe(0);
    await gate.open();
    for (const done of await Promise.all(begun))
      expect(done).toMatchObject({ code: 0, stderr: '' });
    for (const path of outputs) expect(sha256(await readFile(path))).toBe(sha256(content));
    await edge.stop();
    await nginx.stop();
  });

  test('switching the route of an address resets the connections to it', async () => {
    const {
      client,
      edges,
      address,
      switch: next,
    } = anycast(lab, {
      // More than a minute to the end, unless something ends it before.
      client: { downMbit: 0.3, rttMs: 2 },
      edges: [{}, {}],
    });
    const servers = await Promise.all(
      edges.map((host) =>
        startNginx(host, { dir: join(lab.folder, host.name, host.address), root: lab.folder }),
      ),
    );
    const output = join(lab.folder, 'reset');
    const running = runCurl(client, `http://${address}/file`, output);
    await until(async () => existsSync(output) && (await readFile(output)).length > 0);
    next();
    const reset = await running;
    expect(reset.code).toBe(56); // curl: failure in receiving
    expect(reset.stderr).toMatch(/reset by peer/i);
    lab.change(client, { downMbit: 100 });
    expect(await runCurl(client, `http://${address}/file`, output)).toMatchObject({ code: 0 });
    expect(sha256(await readFile(output))).toBe(sha256(content));
    for (const server of servers) await server.stop();
  });

  test('does not wait for a program that has ended', async () => {
    const { client } = pair(lab, { client: {}, server: {} });
    expect(await listens(client.spawn('false', [], { stdio: 'ignore' }), 80)).toBe(false);
  });
});

describe('namespaces, programs and the folder of a laboratory', () => {
  test('go when it is closed', async () => {
    const lab = await Lab.open({ seed: 1 });
    const { client, server } = pair(lab, { client: {}, server: {} });
    const program = client.spawn('sleep', ['1000000'], { stdio: 'ignore' }).pid as number;
    const { folder } = lab;
    const namespaces = [client.namespace, server.namespace];
    expect(namespaces.every(isNamespace)).toBe(true);
    await lab.close();
    await until(() => nothingIsLeft({ namespaces, program, folder, keeper: lab.keeper }));
  });

  test('go together with a program that has not entered its host yet', async () => {
    const lab = await Lab.open({ seed: 1 });
    const { client } = pair(lab, { client: {}, server: {} });
    const slow = await mkdtemp(join(tmpdir(), 'slow-'));
    await writeFile(join(slow, 'ip'), '#!/bin/sh\nexec /bin/sleep 1000000\n', { mode: 0o755 });
    const child = client.spawn('true', [], { stdio: 'ignore', env: { PATH: slow } });
    const ended = once(child, 'exit');
    await lab.close();
    expect(await ended).toEqual([null, 'SIGKILL']);
    await rm(slow, { recursive: true });
  });

  test('go when its owner is killed', async () => {
    const { made, kill } = await owned();
    expect(made.namespaces.every(isNamespace)).toBe(true);
    await kill();
    await until(() => nothingIsLeft(made) && !isAlive(made.keeper));
  });

  test('go when the next laboratory opens, if the keeper was killed as well', async () => {
    const { made, kill } = await owned();
    process.kill(made.keeper, 'SIGKILL');
    await kill();
    expect(made.namespaces.every(isNamespace)).toBe(true);
    await (await Lab.open({ seed: 1 })).close();
    await until(() => nothingIsLeft(made));
  });
});
