import { describe, expect, test } from '@jest/globals';
import { readTarget } from './read-target.ts';
import { asksForRegistry } from './registry.ts';

const read = (target: string) =>
  readTarget(target, { policy: { takesLinks: false }, defaultScheme: 'http' }).url.href;

describe('parts of images at a mirror', () => {
  test.each([
    ['/v2/ghcr.io/a/b/manifests/v1', 'https://ghcr.io/v2/a/b/manifests/v1'],
    ['/v2/ghcr.io/a/b/blobs/sha256:00', 'https://ghcr.io/v2/a/b/blobs/sha256:00'],
    [
      '/v2/docker.io/library/a/manifests/v1',
      'https://registry-1.docker.io/v2/library/a/manifests/v1',
    ],
    [
      '/v2/docker.io/a/b/manifests/v1?ns=docker.io',
      'https://registry-1.docker.io/v2/a/b/manifests/v1',
    ],
    ['/v2/own.example:5000/a/manifests/v1', 'http://own.example:5000/v2/a/manifests/v1'],
    ['/v2/ghcr.io/../x/manifests/v1', 'https://ghcr.io/x/manifests/v1'],
  ])('%s is %s', (target, url) => expect(read(target)).toBe(url));

  test.each([
    '/v2/a/b/manifests/v1',
    '/v2/ghcr.io/a/b/tags/list',
    '/v2/ghcr.io/manifests/v1',
    '/v2/user:secret@ghcr.io/a/manifests/v1',
    '/v2/ghcr.io/a/blobs/v1?x=y',
    '/v2/',
  ])('%s is refused', (target) => {
    expect(() => read(target)).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/no-such-page|bad-url|credentials/) }),
    );
  });

  test('a client asks first whether there is a registry', () => {
    expect(['/v2/', '/v2', '/v2/a', '/v22'].map(asksForRegistry)).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });
});
