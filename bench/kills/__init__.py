"""The engine killed at random moments under the real window, again and again: is anything lost, does anything wedge?"""
