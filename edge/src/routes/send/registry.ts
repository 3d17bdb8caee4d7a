/** A mirror of container images: its paths, and the answer that there is one. */

import type { Exchange } from '../../clients/exchanges.ts';

/**
 * A part of an image at a mirror (OCI Distribution 1.1): clients write the registry's name before that of
 * the image, and containerd names the registry in `ns` as well.
 */
const IMAGE = /^\/v2\/([^/?]*[.:][^/?]*)\/([^?]+\/(?:manifests|blobs)\/[^/?]+)(?:\?ns=[^&]*)?$/;
/** Host of the registry whose images are named after another. */
const DOCKER = ['docker.io', 'registry-1.docker.io'] as const;

/**
 * Returns the URL of a part of an image, with a scheme unless the registry has a port.
 *
 * @param target the raw request target
 * @returns undefined for other targets
 */
export function imageUrl(target: string): string | undefined {
  const [, registry, part] = IMAGE.exec(target) ?? [];
  if (registry === undefined) return undefined;
  const host = registry === DOCKER[0] ? DOCKER[1] : registry;
  return `${registry.includes(':') ? '' : 'https://'}${host}/v2/${part}`;
}

/** Returns true for the question whether there is a registry. */
export function asksForRegistry(target: string): boolean {
  return /^\/v2\/?$/.test(target);
}

/** Answers that there is one: what it has, and for whom, shows with each image. */
export function sendRegistry(exchange: Exchange): void {
  exchange.kind = 'file';
  const headers = {
    'content-type': 'application/json',
    'content-length': '2',
    'docker-distribution-api-version': 'registry/2.0',
  };
  exchange.res.writeHead(200, headers).end('{}');
}
