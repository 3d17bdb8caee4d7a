import { expect, test } from '@jest/globals';
import { type DownloadRequest, REQUEST_DEFAULTS } from '@millrace/shared/download/request/request';
import { shownOptions, withoutLogins, withoutSecrets } from './secrets.ts';

const request: DownloadRequest = {
  ...REQUEST_DEFAULTS,
  urls: ['http://a.example/x'],
  dir: '/d',
  headers: { cookie: 'c=secret', authorization: 'secret', accept: '*/*' },
  login: { user: 'me', password: 'secret' },
  proxy: 'http://me:secret@proxy.example/',
};

test('a request for another origin has no log-in', () => {
  const { headers, login, proxy } = withoutLogins(request);
  expect(headers).toEqual({ accept: '*/*' });
  expect(login).toBeUndefined();
  expect(proxy).toBe(request.proxy);
});

test('an exported request has no password', () => {
  expect(JSON.stringify(withoutSecrets(request))).not.toContain('secret');
  const open = { ...request, proxy: 'http://proxy.example/' };
  expect(withoutSecrets(open).proxy).toBe('http://proxy.example/');
});

test('options are shown without passwords', () => {
  const options = {
    'http-user': 'me',
    'http-passwd': 'secret',
    'all-proxy': 'http://u:secret@proxy.example:3128/',
    'https-proxy': 'u:secret@proxy.example:3128',
    'all-proxy-passwd': 'secret',
    split: '3',
  };
  expect(shownOptions(options)).toEqual({
    'http-user': 'me',
    'all-proxy': 'http://proxy.example:3128/',
    'https-proxy': 'http://proxy.example:3128/',
    split: '3',
  });
});
