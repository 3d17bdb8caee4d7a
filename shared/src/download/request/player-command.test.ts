import { expect, test } from '@jest/globals';
import { fillPlaces, needsPlaylist, placesOf, playlistOf } from './player-command.ts';

const ADDRESS = 'http://127.0.0.1:5000/secret/film.mkv';
const FILE = '/tmp/x/film.m3u';
const argsOf = (...command: string[]) => fillPlaces(placesOf(command), ADDRESS, FILE);

test.each([
  ['mpv'],
  ['/usr/bin/mpv'],
  ['C:\\Program Files\\VideoLAN\\VLC\\VLC.exe'],
  ['vlc', '--fullscreen'],
])('%s gets a playlist, and no address', (program, ...args) => {
  expect(needsPlaylist(placesOf([program, ...args]))).toBe(true);
  expect(argsOf(program, ...args)).toEqual([...args, FILE]);
});

test.each([['./play.sh'], ['node', 'player.mjs', 'mpv'], ['/opt/mpv/wrapper'], ['curl', '-O']])(
  '%s gets the address itself',
  (program, ...args) => {
    expect(needsPlaylist(placesOf([program, ...args]))).toBe(false);
    expect(argsOf(program, ...args)).toEqual([...args, ADDRESS]);
  },
);

test('placeholders in a command decide what it gets, and where', () => {
  expect(argsOf('mpv', '{url}', '--fs')).toEqual([ADDRESS, '--fs']);
  expect(needsPlaylist(placesOf(['mpv', '{url}']))).toBe(false);
  expect(argsOf('play.sh', '--list={playlist}', '--once')).toEqual([`--list=${FILE}`, '--once']);
  expect(argsOf('play.sh', '{url}', '{playlist}')).toEqual([ADDRESS, FILE]);
  // A placeholder in place of the program does not count.
  expect(argsOf('{url}')).toEqual([ADDRESS]);
});

test('inserted text is not searched for placeholders', () => {
  expect(fillPlaces(['{playlist}'], ADDRESS, '/tmp/{url}/$&')).toEqual(['/tmp/{url}/$&']);
});

test('a playlist has one entry', () => {
  expect(playlistOf(ADDRESS)).toBe(`#EXTM3U\n${ADDRESS}\n`);
});
