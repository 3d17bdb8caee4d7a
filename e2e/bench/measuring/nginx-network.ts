/**
 * Sharded caching with nginx alone: a front cuts files into slices and requests each from the cache
 * that consistent hashing assigns to it, so that every slice is stored once.
 */

import { join } from 'node:path';
import { Nginx } from '../../fixtures/origins/nginx.ts';
import type { Stage } from './stage.ts';

export class NginxNetwork {
  readonly #caches: Nginx[] = [];
  #front: Nginx | undefined;

  private constructor() {}

  /** Starts the caches and the front. @param cacheBytes size of each cache */
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

  /** URL for clients. */
  get url(): string {
    return this.#front?.url ?? '';
  }

  /** Process ids of the front and all caches, whose workers are their children. */
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
    // The front requests whole slices: the range is part of the key and is passed on unchanged,
    // which nginx does not do by default. Clients of one file request it at the same time: the lock
    // has the origin send each slice once, which keeps origin bytes at 1.00 of the file.
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
    // Every byte passes through the front: with fewer cores it would be the bottleneck.
    workers: 'auto',
    http: `
    upstream caches {
      hash $uri$is_args$args$slice_range consistent;
      ${servers}
      keepalive 64;
    }`,
    // The front has no cache, which would only copy the next process's data, and writes no
    // temporary files for slow clients. Its buffers are nginx's defaults: larger ones were slower.
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
