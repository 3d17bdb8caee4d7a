import { describe, expect, test } from '@jest/globals';
import { routeFile } from './route-file.ts';

const ROUTES = ['192.0.2.0/24', '198.51.100.1/32', '2001:db8::/48'];

describe('a file of routes', () => {
  test('for BIRD has the routes in the protocol of their family', () => {
    expect(routeFile('bird', ROUTES, true)).toBe(`# Written by an edge of Millrace: announced.
protocol static millrace4 {
  ipv4;
  route 192.0.2.0/24 unreachable;
  route 198.51.100.1/32 unreachable;
}
protocol static millrace6 {
  ipv6;
  route 2001:db8::/48 unreachable;
}
`);
  });

  test('for BIRD keeps the protocols, which filters may name, when nothing is announced', () => {
    const text = routeFile('bird', ROUTES, false);
    expect(text).toMatch(/protocol static millrace4 {\n {2}ipv4;\n}/);
    expect(text).not.toMatch(/route /);
  });

  test('for ExaBGP has a command for each route', () => {
    expect(routeFile('exabgp', ROUTES, true)).toMatch(
      /^announce route 192.0.2.0\/24 next-hop self\nannounce route 198/,
    );
    const withdrawn = routeFile('exabgp', ROUTES, false).trimEnd().split('\n');
    expect(withdrawn.map((line) => line.split(' ')[0])).toEqual(Array(3).fill('withdraw'));
  });
});
