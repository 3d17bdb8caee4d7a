import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { capabilityIn } from './capability-url.ts';

const HEX32 = '5d41402abc4b2a76b9719d911017c592';
const HEX40 = 'a94a8fe5ccb19ba61c4c0873d391e987982fbbd3';
const HEX64 = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';
const UUID = '3f2b8c9e-1d4a-4b6f-8e2a-9c7d5e1f0a3b';
const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl';

describe('capability URLs', () => {
  test.each([
    ['S3, version 4', 'https://b.s3.amazonaws.com/a.iso?X-Amz-Credential=c&X-Amz-Signature=s'],
    [
      'S3, version 2',
      'https://b.s3.amazonaws.com/a.iso?AWSAccessKeyId=A&Expires=1700000000&Signature=s',
    ],
    ['Google Cloud Storage', 'https://storage.googleapis.com/b/a?X-Goog-Signature=s'],
    [
      'Azure',
      'https://x.blob.core.windows.net/c/a?sv=2022-11-02&se=2026-12-01T00:00:00Z&sr=b&sp=r&sig=s',
    ],
    ['Azure, only its end', 'https://x.blob.core.windows.net/c/a?se=2026-12-01T00%3A00%3A00Z'],
    ['CloudFront', 'https://d1.cloudfront.net/a.iso?Policy=p&Signature=s&Key-Pair-Id=k'],
    ['a policy alone', 'https://example.com/a.iso?policy=abc'],
    ['Akamai, in the query', 'https://e.akamaized.net/a?hdnts=exp=1700000000~acl=/*~hmac=00'],
    ['Akamai, in the path', 'https://e.akamaized.net/hdntl=exp=1700000000~hmac=00/a.iso'],
    ['Akamai, other names', 'https://e.akamaized.net/exp=1700000000~acl=%2f*~hmac=00/a.iso'],
    ['BunnyCDN, in the query', 'https://x.b-cdn.net/a.iso?token=abc&expires=1700000000'],
    ['BunnyCDN, in the path', 'https://x.b-cdn.net/bcdn_token=abc&expires=1700000000/a.iso'],
    ['Fastly', 'https://example.com/a.iso?auth=1700000000_abc'],
    ['nginx, md5 and expires', 'https://example.com/a.iso?md5=Yq2b_c&expires=1700000000'],
    ['nginx, md5 and a relative end', 'https://example.com/a.iso?md5=abc&expires=600'],
    ['nginx, st and e', 'https://example.com/a.iso?st=Yq2b&e=1700000000'],
    ['nginx, st and e, otherwise', 'https://example.com/a.iso?ST=x&E=20'],
    ['an end alone', 'https://example.com/a.iso?expires=1700000000'],
    ['a key', 'https://example.com/a.iso?key=abc'],
    ['a verification', 'https://example.com/a.iso?verify=1'],
    ['Dropbox', 'https://www.dropbox.com/scl/fi/abc/a.iso?rlkey=abc&dl=1'],
    ['rlkey elsewhere', 'https://example.com/a.iso?rlkey=abc'],
    ['a share', 'https://example.com/a.iso?share=abc'],
    [
      'Google Drive',
      'https://drive.usercontent.google.com/download?id=1aB&export=download&confirm=t',
    ],
    ['a resource key', 'https://example.com/a.iso?resourcekey=0-abc'],
    ['an id as Drive has them', 'https://example.com/uc?id=1A2b3C4d5E6f7G8h9I0jKlMnOpQrStUvW'],
    ['OneDrive', 'https://onedrive.live.com/download?resid=1&authkey=%21abc'],
    ['SharePoint', 'https://x-my.sharepoint.com/:u:/g/personal/a/EaB?e=x'],
    ['WeTransfer', `https://download.wetransfer.com/eu2/${HEX40}/a.zip`],
    ['Mega', 'https://mega.nz/file/abc#key'],
    ['Discord', 'https://cdn.discordapp.com/attachments/1/2/a.zip?ex=65f&is=65e&hm=ab'],
    ['Nextcloud', 'https://cloud.example.com/s/Kx3mPq9ZtR7wLbY/download'],
    [
      'Nextcloud, behind index.php',
      'https://cloud.example.com/index.php/s/aWb3Xy7QnTk2LmP/download',
    ],
    ['Seafile', 'https://sea.example.com/f/9b1c2d3e4f5a6b7c8d9e/?dl=1'],
    ['Seafile, a folder', 'https://sea.example.com/d/9b1c2d3e4f5a4b7c8d9e/files/?p=/a'],
    ['a JWT in the path', `https://example.com/dl/${JWT}/a.iso`],
    ['a JWT in the query', `https://example.com/a.iso?x=${JWT}`],
    ['a UUID in the path', `https://example.com/files/${UUID}/a.pdf`],
    ['a UUID in the name', `https://example.com/invoice-${UUID}.pdf`],
    ['a UUID in the query', `https://example.com/get?f=${UUID}`],
    ['a long number in the path', `https://example.com/${HEX32}/a.pdf`],
    ['a long number behind a word', `https://example.com/export_${HEX64}.zip`],
    ['an id of base64url', 'https://example.com/x/dQw4w9WgXcQ_3kZ-8mNp2Rt7/a.zip'],
    ['a session in the path', 'https://example.com/a.iso;jsessionid=abc'],
    ['a token in the path', 'https://example.com/token=abc/a.iso'],
    ['a token in the fragment', 'https://example.com/a.iso#access_token=abc'],
    ['an address', 'https://example.com/a.iso?user=me%40example.com'],
    ['a user name', 'https://me@example.com/a.iso'],
    ['a name in camel case', 'https://example.com/a.iso?accessToken=x'],
    ['a name of words written together', 'https://example.com/a.iso?usertoken=x'],
    ['a name of words written together, shortened', 'https://example.com/a.iso?urlsig=x'],
    ['SharePoint, with a temporary log-in', 'https://x.example.com/download.aspx?tempauth=v1.x'],
    ['Backblaze', 'https://f002.backblazeb2.com/file/b/a.iso?Authorization=3_2019'],
    ['Facebook', 'https://scontent.example.com/v/t/x.jpg?oh=00_AfX&oe=65A00000'],
    ['Tencent', 'https://example.com/a.iso?vkey=x'],
    ['Tencent, with a time', 'https://example.com/a.iso?txSecret=x&txTime=65A00000'],
    ['a password, shortened', 'https://example.com/a.iso?pw=x'],
    ['a PIN', 'https://example.com/a.iso?pin=1234'],
    ['a code of access', 'https://example.com/a.iso?accesscode=x'],
    ['a user and a password, by their letters', 'https://example.com/a.iso?u=me&p=x'],
    ['a hash with a time', 'https://example.com/a.iso?hash=AgADk&time=1700000000'],
    ['nginx, hash and end in the path', 'https://example.com/x/AbCdEf12_xx,1700000000/a.mp4'],
    ['nginx, hash and end in one value', 'https://example.com/a.iso?x=AbCdEf12_-xx,1700000000'],
    ['an id behind a folder for it', 'https://example.com/get/Zx81kQp2Lm/a.zip'],
    ['a name in brackets', 'https://example.com/a.iso?data[token]=abc'],
    ['a number behind the name', 'https://example.com/a.iso?token2=abc'],
    ['a list of parameters as a value', 'https://example.com/a.iso?params=token%3Dabc%26x%3D1'],
    ['a URL as a value', 'https://example.com/get?url=https%3A%2F%2Fd.example.com%2F%3Fpw%3Dx'],
    ['names in other letters', 'https://example.com/a.iso?%54OKEN=abc'],
    ['a name that is written twice', 'https://example.com/a.iso?x=1&Download-Token=abc'],
  ])('%s: %s', (_, url) => {
    expect(capabilityIn(new URL(url))).toBeDefined();
  });

  test('are found by random identifiers anywhere', () => {
    const base62 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
    const id = fc
      .array(fc.constantFrom(...base62), { minLength: 24, maxLength: 40 })
      .map((chars) => chars.join(''));
    let missed = 0;
    const runs = 500;
    fc.assert(
      fc.property(id, fc.constantFrom('x/', 's/', 'get?f='), (text, where) => {
        if (capabilityIn(new URL(`https://example.com/${where}${text}`)) === undefined) missed++;
      }),
      { numRuns: runs, seed: 16 },
    );
    expect(missed / runs).toBeLessThan(0.02);
  });
});

describe('URLs of public files', () => {
  test.each([
    'https://releases.ubuntu.com/24.04.1/ubuntu-24.04.1-desktop-amd64.iso',
    'https://cdimage.debian.org/debian-cd/current/amd64/iso-cd/debian-12.8.0-amd64-netinst.iso',
    'https://deb.debian.org/debian/pool/main/f/firefox-esr/firefox-esr_128.5.0esr-1~deb12u1_amd64.deb',
    'https://deb.debian.org/debian/pool/main/s/sqlite3/libsqlite3-0_3.40.1-2+deb12u1_amd64.deb',
    'https://deb.debian.org/debian/pool/main/d/docker.io/docker.io_20.10.24+dfsg1-1+b3_amd64.deb',
    `https://deb.debian.org/debian/dists/bookworm/main/binary-amd64/by-hash/SHA256/${HEX64}`,
    `https://snapshot.debian.org/file/${HEX40}`,
    'https://snapshot.debian.org/archive/debian/20231010T120000Z/pool/main/b/bash/bash_5.2.deb',
    'https://github.com/cli/cli/releases/download/v2.62.0/gh_2.62.0_linux_amd64.tar.gz',
    `https://github.com/torvalds/linux/archive/${HEX40}.tar.gz`,
    `https://codeload.github.com/torvalds/linux/tar.gz/${HEX40}`,
    `https://raw.githubusercontent.com/a/b/${HEX40}/README.md`,
    'https://huggingface.co/meta-llama/Llama-3.1-8B-Instruct/resolve/main/model-00001-of-00004.safetensors',
    `https://huggingface.co/org/model/resolve/${HEX40}/model.safetensors?download=true`,
    'https://archive.org/download/grateful-dead-1977-05-08/gd77-05-08.flac',
    'https://archive.org/download/SonicTheHedgehog_201310/Sonic.zip',
    `https://dl.flathub.org/repo/objects/ab/${HEX64.slice(2)}.filez`,
    'https://cache.nixos.org/nar/1w1fff338fvdw53sqgamddn1b2xgds473pv6y13gizdbqjv4i5p3.nar.xz',
    'https://cache.nixos.org/b6gvzjyb2pg0kjfwrjmg1vfhh54ad73z.narinfo',
    `https://registry.example.com/v2/library/alpine/blobs/sha256:${HEX64}`,
    `https://mirror.example.com/fedora/repodata/${HEX64}-primary.xml.gz`,
    `https://files.pythonhosted.org/packages/5d/41/${HEX64.slice(0, 60)}/six-1.16.0-py2.py3-none-any.whl`,
    'https://ipfs.io/ipfs/QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKpPnC',
    'https://registry.npmjs.org/@types/node/-/node-22.9.0.tgz',
    'https://download.mozilla.org/?product=firefox-latest-ssl&os=linux64&lang=en-US',
    'https://ftp.mozilla.org/pub/firefox/releases/132.0/linux-x86_64/en-US/firefox-132.0.tar.bz2',
    'https://cdn.kernel.org/pub/linux/kernel/v6.x/linux-6.11.tar.xz',
    'https://sourceforge.net/projects/sevenzip/files/7-Zip/24.08/7z2408-x64.exe/download',
    'https://downloads.sourceforge.net/project/sevenzip/7-Zip/24.08/7z2408-x64.exe?use_mirror=netcologne',
    'https://download.documentfoundation.org/libreoffice/stable/24.8.3/win/x86_64/LibreOffice_24.8.3_Win_x86-64.msi',
    'https://github.com/adoptium/temurin17-binaries/releases/download/jdk-17.0.13%2B11/OpenJDK17U-jdk_x64_linux_hotspot_17.0.13_11.tar.gz',
    'https://download.freebsd.org/releases/amd64/amd64/ISO-IMAGES/14.1/FreeBSD-14.1-RELEASE-amd64-dvd1.iso',
    'https://developer.download.nvidia.com/compute/cuda/12.6.3/local_installers/cuda_12.6.3_560.35.05_linux.run',
    'https://go.dev/dl/go1.23.3.linux-amd64.tar.gz',
    'https://nodejs.org/dist/v22.11.0/node-v22.11.0-linux-x64.tar.xz',
    'https://dl.google.com/linux/direct/google-chrome-stable_current_amd64.deb',
    'https://download.visualstudio.example/msvc2019/win64/vs_BuildTools.exe',
    'https://zenodo.org/records/1234567/files/data.csv?download=1',
    'https://planet.openstreetmap.org/pbf/planet-241118.osm.pbf',
    'https://ftp.ncbi.nlm.nih.gov/genomes/all/GCF/000/001/405/GCF_000001405.40_GRCh38.p14/GCF_000001405.40_GRCh38.p14_genomic.fna.gz',
    'https://example.com/a.iso?mirror=de&size=1&t=1700000000',
    `https://example.com/app.js?v=${HEX32}`,
    `https://example.com/a.iso?sha256=${HEX64}`,
    'https://example.com/token/a.iso',
    'https://example.com/Win10_22H2_English_x64v1.iso',
    'https://example.com/files/backup-2026-11-23T10-20-30.tar.gz',
    'https://example.com/download/SupportAssistLauncher.exe',
    'https://example.com/a.iso#top',
    'https://example.com/get?file=app-1.2.3.zip&lang=en',
    'https://example.com/a.iso?referrer=https%3A%2F%2Fwww.example.com%2Fdownloads%2F%3Flang%3Den',
    'https://example.com/a.iso?keyboard=de&passes=2&design=1&author=x&turkey=1&pinned=0',
    'https://example.com/attachments/2024/annual-report-2024.pdf',
    'https://example.com/get/videolan/vlc-3.0.21-win64.exe',
    'https://example.com/view/release-2024.10/notes.pdf',
    'https://example.com/a.iso?filter=os%3Dlinux%26arch%3Damd64',
  ])('%s', (url) => {
    expect(capabilityIn(new URL(url))).toBeUndefined();
  });
});
