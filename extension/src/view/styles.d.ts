/** Styles are imported for the build, which puts them beside the script. */

declare module '*.css';
declare module '@fontsource-variable/inter';
