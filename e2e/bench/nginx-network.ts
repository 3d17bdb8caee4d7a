/**
 * Sharded caching as operators build it with nginx alone: a front cuts files into slices and sends
 * each to the cache that consistent hashing assigns it to, so that every slice is stored once.
 */

import { join } from 'node:path';
import { Nginx } from '../fixtures/origins/nginx.ts';
import type { Stage } from './measuring/stage.ts';

export class NginxNetwork {
  readonly #caches: Nginx[] = [];
  #front: Nginx | undefined;

  private constructor() {}

  /** @param cacheBytes room in each cache */
  static async start(stage: Stage, caches: number, cacheBytes: number): Promise<NginxNetwork> {
    const network = new NginxNetwork();
    try {
      for (let index = 0; index < caches; index++) {
        const dir = stage.folder(`nginx-${index}`);
        network.#caches.push(await startCache(stage, dir, cacheBytes));
      }
      network.#front = await startFront(stage.folder('nginx-front'), network.#caches);
    } catch (error) {
      await network.stop();
      throw error;
    }
    return network;
  }

  /** Where clients come in. */
  get url(): string {
    return this.#front?.url ?? '';
  }

  /** The front and all caches; each has its workers as children. */
  get pids(): number[] {
    return this.#all.map((nginx) => nginx.pid);
  }

  get #all(): Nginx[] {
    return this.#front === undefined ? this.#caches : [this.#front, ...this.#caches];
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all.map((nginx) => nginx.stop()));
  }
}

function startCache(stage: Stage, dir: string, cacheBytes: number): Promise<Nginx> {
  return Nginx.start({
    dir,
    root: dir,
    http: `
    proxy_cache_path ${join(dir, 'cache')} keys_zone=z:10m max_size=${cacheBytes} use_temp_path=off;
    upstream origin { server 127.0.0.1:${stage.origin.port}; keepalive 32; }`,
    // The front asks for whole slices: the range is part of the key, and passed on as it is, which
    // a cache would not do by itself. Clients of one file come together: the lock keeps the origin
    // from sending a slice to each of them, that is, it keeps origin bytes at 1.00 of the file.
    server: `
    location / {
      proxy_cache z;
      proxy_cache_key $uri$is_args$args$http_range;
      proxy_cache_lock on;
      proxy_cache_valid 200 206 1h;
      proxy_set_header Range $http_range;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_pass http://origin;
    }`,
  });
}

function startFront(dir: string, caches: readonly Nginx[]): Promise<Nginx> {
  const servers = caches.map((cache) => `server 127.0.0.1:${cache.port};`).join(' ');
  return Nginx.start({
    dir,
    root: dir,
    // Every byte passes through the front: it gets all cores, or it would be the bottleneck.
    workers: 'auto',
    http: `
    upstream caches {
      hash $uri$is_args$args$slice_range consistent;
      ${servers}
      keepalive 64;
    }`,
    // The front keeps nothing: that would be a second copy of the next process's cache. Nor does it
    // spool slices for slow clients into files. Its buffers are nginx's defaults: larger ones were
    // slower.
    server: `
    location / {
      slice 1m;
      proxy_max_temp_file_size 0;
      proxy_set_header Range $slice_range;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_pass http://caches;
    }`,
  });
}
