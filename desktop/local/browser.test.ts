import { expect, test } from '@jest/globals';
import { browserCommand } from './browser.ts';

test('each system has a command that opens an address; without a screen there is none', () => {
  expect(browserCommand('darwin', {})).toEqual(['open']);
  expect(browserCommand('win32', {})).toEqual(['rundll32', 'url.dll,FileProtocolHandler']);
  expect(browserCommand('linux', { DISPLAY: ':0' })).toEqual(['xdg-open']);
  expect(browserCommand('linux', { WAYLAND_DISPLAY: 'wayland-0' })).toEqual(['xdg-open']);
  expect(browserCommand('linux', { DISPLAY: '' })).toBeUndefined();
  expect(browserCommand('freebsd', {})).toBeUndefined();
});
