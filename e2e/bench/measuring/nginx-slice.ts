/** An nginx that caches in slices of 1 MiB, before the origin of a benchmark. */

import { Nginx } from '../../fixtures/origins/nginx.ts';
import type { Stage } from './stage.ts';

/**
 * Starts nginx with its slice module. Its cache is in the folder `NAME-cache` of the stage.
 *
 * @param cacheBytes size that the cache may have, bytes
 */
export function startSlice(stage: Stage, name: string, cacheBytes: number): Promise<Nginx> {
  return Nginx.start({
    dir: stage.folder(name),
    root: stage.folder(name),
    http: `
    proxy_cache_path ${stage.folder(`${name}-cache`)} keys_zone=z:10m max_size=${cacheBytes}
      use_temp_path=off;
    upstream origin { server 127.0.0.1:${stage.origin.port}; keepalive 32; }`,
    server: `
    location / {
      slice 1m;
      proxy_cache z;
      proxy_cache_key $uri$is_args$args$slice_range;
      proxy_set_header Range $slice_range;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_cache_valid 200 206 1h;
      proxy_pass http://origin;
    }`,
  });
}
