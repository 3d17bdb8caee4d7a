/** Path of the page that shows the mini view alone. The app's window opens it in a window of its own. */
export const MINI_PATH = '/mini';
