/** Declares style sheets: code imports them so that the build puts them beside the script. */

declare module '*.css';
declare module '@fontsource-variable/inter';
