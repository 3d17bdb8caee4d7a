/**
 * Makes a tap of Homebrew: a cask for the app, and a formula for the command line, daemon and edge
 * (docs.brew.sh/Cask-Cookbook, docs.brew.sh/Node-for-Formula-Authors).
 */

import {
  APP_ID,
  filesOf,
  HOMEPAGE,
  LICENSE,
  type Manifests,
  NAME,
  type Released,
  SUMMARY,
} from './package-facts.ts';

/** Quotes a text for Ruby, where `#{` in double quotes would be code. */
const quoted = (text: string) => JSON.stringify(text).replaceAll('#{', '\\#{');

/**
 * Returns cask and formula by path in the tap, each if the release has its file.
 *
 * @returns undefined without either
 */
export function homebrewTap(released: Released): Manifests | undefined {
  const [image] = filesOf(released, /\.dmg$/);
  const [archive] = filesOf(released, /^millrace-\d\S*\.tgz$/);
  const { version } = released;
  // The cask's address follows its version, so that Homebrew's own tools can raise it.
  const cask =
    image &&
    `cask "millrace" do
  version ${quoted(version)}
  sha256 ${quoted(image.sha256)}

  url ${quoted(image.url).replaceAll(version, '#{version}')}
  name ${quoted(NAME)}
  desc ${quoted(SUMMARY)}
  homepage ${quoted(HOMEPAGE)}

  auto_updates true

  app "${NAME}.app"

  # The list of downloads and the settings; finished files stay.
  zap trash: [
    "~/Library/Application Support/Millrace",
    "~/Library/Preferences/${APP_ID}.plist",
    "~/Library/Saved Application State/${APP_ID}.savedState",
  ]
end
`;
  const formula =
    archive &&
    `class Millrace < Formula
  desc ${quoted(SUMMARY)}
  homepage ${quoted(HOMEPAGE)}
  url ${quoted(archive.url)}
  sha256 ${quoted(archive.sha256)}
  license ${quoted(LICENSE)}

  depends_on "node"

  def install
    system "npm", "install", *std_npm_args
    bin.install_symlink libexec.glob("bin/*")
    generate_completions_from_executable(bin/"millrace", "completion")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/millrace --version")
  end
end
`;
  if (cask === undefined && formula === undefined) return undefined;
  return {
    ...(cask === undefined ? {} : { 'Casks/millrace.rb': cask }),
    ...(formula === undefined ? {} : { 'Formula/millrace.rb': formula }),
  };
}
