import { expect, test } from '@jest/globals';
import { browserName } from './browser-name.ts';

test.each([
  [undefined, 'Browser'],
  ['curl/8.0', 'Browser'],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox (Linux)'],
  [
    'Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Mobile Safari/537.36',
    'Chrome (Android)',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605 (KHTML, like Gecko) Version/18.0 Mobile Safari/604',
    'Safari (iOS)',
  ],
  [
    'Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537 Chrome/140.0 Safari/537 Edg/140.0',
    'Edge (Windows)',
  ],
])('%s is %s', (agent, name) => {
  expect(browserName(agent)).toBe(name);
});
