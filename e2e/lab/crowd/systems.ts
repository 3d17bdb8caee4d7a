/** The compared systems: today's tools and Millrace, each as people set it up. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from '../../fixtures/until.ts';
import type { Gate } from '../gate.ts';
import type { Host, Run } from '../host.ts';
import {
  type LabEdge,
  type LabNginx,
  runCurl,
  runMillrace,
  startEdge,
  startNginx,
} from '../programs.ts';
import { assembled } from './parts.ts';
import type { CrowdStage, Outcome, System } from './stage.ts';

const CACHE = '256m';
const CACHE_PORT = 8080;
const SECRET = 'a secret of the laboratory';
const FAILURE_LENGTH = 200;

/** Every client fetches directly from the origin. */
export async function direct(stage: CrowdStage): Promise<System> {
  const nginx = await origin(stage);
  return curlFrom(nginx, () => `${nginx.url}/${stage.fileName}`);
}

/** Each edge is a separate cache: nginx with its slice module, one request per slice at a time. */
export async function nginxSlice(stage: CrowdStage): Promise<System> {
  const nginx = await origin(stage);
  const caches = await Promise.all(
    stage.crowd.edges.map(async (host) =>
      startNginx(host, {
        dir: await stage.folder(`nginx-${host.name}`),
        root: stage.root,
        http: `proxy_cache_path cache keys_zone=z:10m max_size=${CACHE} use_temp_path=off;`,
        server: `location / { slice 1m; ${CACHED} proxy_cache_key $uri$slice_range;
          proxy_set_header Range $slice_range; proxy_pass ${nginx.url}; }`,
      }),
    ),
  );
  return curlFrom(nginx, (i) => `${of(caches, i).url}/${stage.fileName}`);
}

/** The edges form one cache: each nginx requests every slice from the cache that it belongs to. */
export async function nginxSharded(stage: CrowdStage): Promise<System> {
  const nginx = await origin(stage);
  const servers = stage.crowd.edges
    .map(({ address }) => `server ${address}:${CACHE_PORT};`)
    .join(' ');
  const fronts = await Promise.all(
    stage.crowd.edges.map(async (host) => {
      await startNginx(host, {
        dir: await stage.folder(`cache-${host.name}`),
        root: stage.root,
        port: CACHE_PORT,
        http: `proxy_cache_path cache keys_zone=z:10m max_size=${CACHE} use_temp_path=off;`,
        server: `location / { ${CACHED} proxy_cache_key $uri$http_range;
          proxy_set_header Range $http_range; proxy_pass ${nginx.url}; }`,
      });
      return startNginx(host, {
        dir: await stage.folder(`front-${host.name}`),
        root: stage.root,
        http: `upstream caches { hash $uri$slice_range consistent; ${servers} keepalive 64; }`,
        server: `location / { slice 1m; proxy_max_temp_file_size 0;
          proxy_set_header Range $slice_range; proxy_http_version 1.1;
          proxy_set_header Connection ""; proxy_pass http://caches; }`,
      });
    }),
  );
  return curlFrom(nginx, (i) => `${of(fronts, i).url}/${stage.fileName}`);
}

const CACHED = `proxy_cache z; proxy_cache_lock on; proxy_cache_lock_timeout 60s;
  proxy_cache_lock_age 60s; proxy_cache_valid 200 206 1h; proxy_http_version 1.1;
  proxy_set_header Connection "";`;

/** Unmodified clients: each gets one answer from one edge, in order. */
export async function millraceInOrder(stage: CrowdStage): Promise<System> {
  const { nginx, edges } = await network(stage);
  return curlFrom(nginx, (i) => of(edges, i).prefixed(`${nginx.url}/${stage.fileName}`));
}

/** One answer from one edge, with its chunks in order of arrival. */
export async function millraceParts(stage: CrowdStage): Promise<System> {
  const { nginx, edges } = await network(stage);
  const fields = ['-H', 'Prefer: delivery=out-of-order', '-H', 'Range: bytes=0-'];
  return {
    fetch: async (client, i, output, gate) => {
      const url = of(edges, i).prefixed(`${nginx.url}/${stage.fileName}`);
      const head = `${output}.head`;
      const run = await runCurl(client, url, output, [...fields, '-D', head], { gate });
      const outcome = outcomeOf(run);
      if (outcome.failure === undefined) await assembled(output, head, stage.bytes);
      return outcome;
    },
    originBytes: bytesOf(nginx),
  };
}

/** `millrace get` with all edges as users name them, the client's own first. */
export async function millraceGet(stage: CrowdStage): Promise<System> {
  const { nginx, edges } = await network(stage);
  const state = await stage.folder('state');
  return {
    fetch: async (client, i, output, gate) => {
      const ordered = edges.map((_, k) => of(edges, i + k).url);
      const named = ordered.flatMap((url) => ['--edge', url]);
      const url = `${nginx.url}/${stage.fileName}`;
      const args = ['get', url, ...named, '--edges-only', '-o', output, '--quiet'];
      const env = { XDG_STATE_HOME: join(state, String(i)) };
      return outcomeOf(await runMillrace(client, args, { gate, env }));
    },
    originBytes: bytesOf(nginx),
  };
}

async function origin(stage: CrowdStage): Promise<LabNginx> {
  const dir = await stage.folder('origin');
  return startNginx(stage.crowd.origin, { dir, root: stage.root });
}

/** Starts the edges as nodes of one network. */
async function network(stage: CrowdStage): Promise<{ nginx: LabNginx; edges: LabEdge[] }> {
  const nginx = await origin(stage);
  const secret = join(stage.lab.folder, 'secret');
  await writeFile(secret, SECRET, { mode: 0o600 });
  const first = of(stage.crowd.edges, 0).address;
  const edges = await Promise.all(
    stage.crowd.edges.map((host) =>
      startEdge(host, [
        ...['--name', host.name, '--peers', `${first}:3125`, '--secret-file', secret],
        ...['--allow-origin', stage.crowd.origin.address],
        ...['--public-url', `http://${host.address}:3125`],
      ]),
    ),
  );
  for (const edge of edges) {
    await until(async () => {
      const { peers } = await edge.status();
      return peers.filter(({ member, usable }) => member && usable).length === edges.length - 1;
    });
  }
  return { nginx, edges };
}

function curlFrom(nginx: LabNginx, urlFor: (client: number) => string): System {
  return {
    fetch: async (client: Host, i: number, output: string, gate: Gate) =>
      outcomeOf(await runCurl(client, urlFor(i), output, [], { gate })),
    originBytes: bytesOf(nginx),
  };
}

const bytesOf = (nginx: LabNginx) => async () => (await nginx.sent()).bytes;

function outcomeOf({ code, signal, seconds, stderr }: Run): Outcome {
  const failure = `${signal ?? code}: ${stderr.trim().slice(0, FAILURE_LENGTH)}`;
  return { seconds, failure: code === 0 ? undefined : failure };
}

/** Returns the items of a list in turn. */
function of<T>(list: readonly T[], i: number): T {
  return list[i % list.length] as T;
}
