/* live_window.exe CLASS COMMAND: finds the window of that class, of whichever process, and
 *
 *     show SECONDS        waits until its title tells frames per second, puts it above all others, and prints "X Y WIDTH HEIGHT
 *                         TITLE": where what it draws in lies on the screen
 *     size WIDTH HEIGHT   changes the size of what it draws in
 *     escape | close      presses Escape, or the close button
 *
 * Exit status 1: there is no such window. */
#include <windows.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEP_MS = 50 };

static bool is_ready(HWND window, char *title, int size)
{
    return window && GetWindowTextA(window, title, size) > 0 && strstr(title, " frames per second");
}

static int show(const char *class, double seconds)
{
    char title[256];
    RECT place;
    POINT corner = {0, 0};
    HWND window;
    for (int left = (int)(seconds * 1000); !is_ready(window = FindWindowA(class, NULL), title, sizeof(title));
         left -= STEP_MS) {
        if (left <= 0)
            return 1;
        Sleep(STEP_MS);
    }
    SetWindowPos(window, HWND_TOPMOST, 0, 0, 0, 0, SWP_NOMOVE | SWP_NOSIZE | SWP_NOACTIVATE);
    GetClientRect(window, &place);
    ClientToScreen(window, &corner);
    printf("%ld %ld %ld %ld %s\n", corner.x, corner.y, place.right, place.bottom, title);
    return 0;
}

static int size(HWND window, int width, int height)
{
    RECT place = {0, 0, width, height};
    AdjustWindowRect(&place, (DWORD)GetWindowLongA(window, GWL_STYLE), FALSE);
    return !SetWindowPos(window, NULL, 0, 0, place.right - place.left, place.bottom - place.top,
                         SWP_NOMOVE | SWP_NOZORDER | SWP_NOACTIVATE);
}

int main(int argc, char **argv)
{
    const char *command = argc > 2 ? argv[2] : "";
    if (argc > 3 && strcmp(command, "show") == 0)
        return show(argv[1], atof(argv[3]));
    HWND window = FindWindowA(argv[1], NULL);
    if (!window)
        return 1;
    if (argc > 4 && strcmp(command, "size") == 0)
        return size(window, atoi(argv[3]), atoi(argv[4]));
    if (strcmp(command, "escape") == 0)
        return !PostMessageA(window, WM_KEYDOWN, VK_ESCAPE, 0);
    if (strcmp(command, "close") == 0)
        return !PostMessageA(window, WM_SYSCOMMAND, SC_CLOSE, 0);
    fputs("usage: live_window.exe CLASS show SECONDS | size WIDTH HEIGHT | escape | close\n", stderr);
    return 2;
}
